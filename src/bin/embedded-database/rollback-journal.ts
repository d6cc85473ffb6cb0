/**
 * Parses the rollback journal beside a database file. SQLite applies it to any file with the matching name. SQLite
 * documentation, Database File Format, The Rollback Journal.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const MAGIC = Buffer.from('d9d505f920a163d7', 'hex')
const JOURNAL_HEADER_BYTES = 28
/** The size of the page number and the checksum of a record. */
const RECORD_FRAME_BYTES = 8
/** The record count that means all records until the end of the journal. */
const TO_THE_END = 0xff_ff_ff_ff

/** A hot journal, which SQLite would apply. */
export interface Journal {
  /** The number of pages of the database before the transaction. */
  readonly pages: number
  /** Page 1 before the transaction; undefined if the journal does not have it. */
  readonly firstPage: Buffer | undefined
}

/** Reads a journal; undefined if there is none, or SQLite would not apply it. */
export function readJournal(file: string): Journal | undefined {
  const descriptor = openIfThere(file)
  if (descriptor === undefined) return undefined
  try {
    const header = readHeader(descriptor, 0)
    return header && { pages: header.pages, firstPage: findFirstPage(descriptor) }
  } finally {
    closeSync(descriptor)
  }
}

function findFirstPage(descriptor: number): Buffer | undefined {
  const end = fstatSync(descriptor).size
  for (let start = 0; ; ) {
    const header = readHeader(descriptor, start)
    if (header === undefined) return undefined
    const { count, sectorBytes, pageBytes } = header
    const recordBytes = pageBytes + RECORD_FRAME_BYTES
    let at = start + sectorBytes
    const last = count === TO_THE_END ? end : Math.min(end, at + count * recordBytes)
    for (; at + recordBytes <= last; at += recordBytes) {
      const record = readFrom(descriptor, at, 4 + pageBytes)
      if (record.readUInt32BE(0) === 1) return record.subarray(4)
    }
    // Each header begins at a sector boundary.
    start = Math.ceil(at / sectorBytes) * sectorBytes
  }
}

function readHeader(descriptor: number, at: number) {
  const header = readFrom(descriptor, at, JOURNAL_HEADER_BYTES)
  if (header.length < JOURNAL_HEADER_BYTES || !header.subarray(0, 8).equals(MAGIC)) return undefined
  const [count, pages, sectorBytes, pageBytes] = [8, 16, 20, 24].map((offset) => header.readUInt32BE(offset))
  if (!count || !pages || !sectorBytes || !pageBytes) return undefined
  return { count, pages, sectorBytes, pageBytes }
}

/** Opens a file for reading; returns undefined if there is none. */
export function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** Reads bytes of an open file from a position; fewer at its end. */
export function readFrom(descriptor: number, from: number, bytes: number): Buffer {
  const part = Buffer.alloc(bytes)
  return part.subarray(0, readSync(descriptor, part, 0, bytes, from))
}
