/**
 * Checks the file of an embedded database before SQLite opens it: SQLite reads any log or journal that lies beside a
 * file, also that of another database, and makes an empty database where there is none. SQLite documentation, Database
 * File Format, The Database Header and The Write-Ahead Log.
 */
import { closeSync, existsSync, fstatSync, openSync, statSync } from 'node:fs'
import { generationFile } from './generation-file.ts'
import { readFrom, readJournal } from './rollback-journal.ts'

/**
 * The ends of the names of the files of a database: its main file, its write-ahead log, the index of the log, and its
 * rollback journal.
 */
export const FILE_ENDS = ['', '-wal', '-shm', '-journal'] as const

const HEADER_BYTES = 100
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** The first byte that SQLite locks, which is in a page of its own. */
const LOCK_BYTE = 2 ** 30
/** The read and write versions of a file whose journal is a log. */
const LOG_VERSION = 2

interface Header {
  readonly pageBytes: number
  readonly pages: number
  readonly version: number
  /** The number of changes, modulo 2^32, which SQLite raises with each transaction that writes the first page. */
  readonly changeCount: number
  /** The number of write-ahead logs that the database has had, which the store raises with each that it begins. */
  readonly logCount: number
  /** Whether the number of pages was written together with the rest. */
  readonly isCurrent: boolean
}

/** Returns why the database must not be opened, and what to do; undefined when it may be opened. */
export function fileProblem(file: string): string | undefined {
  if (file === ':memory:') return undefined
  const size = sizeOf(file)
  if (size === 0) return missingProblem(file)
  const header = readStart(file, HEADER_BYTES)
  // SQLite itself refuses a file that is not a database.
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, 15) !== 'SQLite format 3') return undefined
  const main = headerOf(header)
  // A transaction of another process may begin between the two reads.
  const journalProblem = findForeignJournalProblem(file) && findForeignJournalProblem(file)
  if (journalProblem !== undefined) return journalProblem
  if (sizeOf(`${file}-wal`) > LOG_HEADER_BYTES) return findForeignLogProblem(file, main)
  if (main.isCurrent && size < main.pages * main.pageBytes) {
    return `the file has ${size} bytes and says that it has ${main.pages * main.pageBytes}: it was cut off; put back a backup`
  }
  return undefined
}

/** The facts that a file states about itself while it is used. */
export interface FileState {
  /** Whether all pages that the header counts are in the file or in the log. */
  readonly isWhole: boolean
  /** Whether the journal of the file is a write-ahead log, as it is not in a copy by `vacuum into`. */
  readonly hasLog: boolean
  /** The number of write-ahead logs that the database has had, which only grows. */
  readonly logCount: number
}

/** An embedded database's file, open to be read beside SQLite. */
export interface OpenedFile {
  /** Reads what the file states about itself; undefined when the file is shorter than a header. */
  readState(): FileState | undefined
  /** Closes the file, which has to come after SQLite has closed the database. */
  close(): void
}

/**
 * Opens the file of a database that SQLite has open in this process. The file stays open: the first `close` of a file
 * ends all locks of the process on it, also those by which SQLite knows that the database is in use. SQLite
 * documentation, How To Corrupt An SQLite Database File, POSIX advisory locks.
 */
export function openDatabaseFile(file: string): OpenedFile {
  const descriptor = openSync(file, 'r')
  const readOneState = (): FileState | undefined => {
    const header = readFrom(descriptor, 0, HEADER_BYTES)
    if (header.length < HEADER_BYTES) return undefined
    const { pages, pageBytes, version, logCount } = headerOf(header)
    const countPages = () => Math.floor(fstatSync(descriptor).size / pageBytes)
    const isWhole = countPages() >= pages || hasPages(`${file}-wal`, pageBytes, { countPages, last: pages })
    return { isWhole, hasLog: version === LOG_VERSION, logCount }
  }
  return {
    readState: () => {
      const state = readOneState()
      // A file that is compacted at this moment becomes shorter than it just said, and says so when it is read again.
      return state?.isWhole === false ? readOneState() : state
    },
    close: () => closeSync(descriptor),
  }
}

/**
 * Tests whether the log has each page that the file lacks up to the last. They are in the log alone while a checkpoint
 * runs, after one that a full disk or a kill has stopped, and after one that had to leave out what was written again
 * since the state that another connection still reads. The pages of the file are counted after the log was read, which
 * begins anew only when the file has all pages.
 */
function hasPages(
  log: string,
  pageBytes: number,
  { countPages, last }: { readonly countPages: () => number; readonly last: number },
): boolean {
  // The page of the locks, which is never written. SQLite documentation, The Lock-Byte Page.
  const pages = new Set([LOCK_BYTE / pageBytes + 1])
  for (const { page } of readFrames(log, pageBytes)) pages.add(page)
  for (let page = countPages() + 1; page <= last; page += 1) if (!pages.has(page)) return false
  return true
}

function missingProblem(file: string): string | undefined {
  if (sizeOf(`${file}-wal`) > 0) {
    return `the file is missing or empty, and its log ${file}-wal is there; put the file back, or take the log away to begin an empty database`
  }
  if (readJournal(`${file}-journal`) !== undefined) {
    return `the file is missing or empty, and its journal ${file}-journal is there; put the file back, or take the journal away to begin an empty database`
  }
  const witnessFile = generationFile(file)
  if (!existsSync(witnessFile)) return undefined
  return `the file is missing or empty, and was there at the last start; put it back, or take ${witnessFile} away to begin an empty database`
}

/**
 * Checks that the log was started on this file: the count of logs in the file is one less than that of the first page 1
 * in the log, or equal to one in the log when part of it was moved into the file.
 */
function findForeignLogProblem(file: string, main: Header): string | undefined {
  const advice = `${file}-wal is the log of another state of the database, as it is left where a backup is put back: take it and ${file}-shm away if the file is the one that you want, or put back the file that the log belongs to`
  if (main.version !== LOG_VERSION) return advice
  const counts = readLogCounts(`${file}-wal`, main.pageBytes)
  if (counts === undefined) return advice
  const [first] = counts
  return first === undefined || main.logCount === first - 1 || counts.includes(main.logCount) ? undefined : advice
}

/**
 * Checks that the journal is of the last transaction on this file: before it, the first page was as the journal has it;
 * a journal without the first page is of a file whose first page has not changed since.
 */
function findForeignJournalProblem(file: string): string | undefined {
  const main = headerOf(readStart(file, HEADER_BYTES))
  const journal = readJournal(`${file}-journal`)
  if (journal === undefined) return undefined
  const before = journal.firstPage && headerOf(journal.firstPage)
  const changes = before && (main.changeCount - before.changeCount) >>> 0
  const belongs = before
    ? (changes === 0 || changes === 1) && main.logCount === before.logCount
    : main.pages === journal.pages
  if (belongs) return undefined
  return `${file}-journal is the journal of another state of the database, as it is left where a backup is put back: take it away if the file is the one that you want, or put back the file that the journal belongs to`
}

/**
 * Returns the counts of logs in the copies of page 1 in a log, in order; undefined when its pages have another size.
 */
function readLogCounts(log: string, pageBytes: number): readonly number[] | undefined {
  if (readStart(log, LOG_HEADER_BYTES).readUInt32BE(8) !== pageBytes) return undefined
  const firstPages = [...readFrames(log, pageBytes)].filter(({ page }) => page === 1)
  return firstPages.map(({ start }) => headerOf(start).logCount)
}

/** Reads the frames of a log: the number of the page of each, and the first bytes of the page. */
function* readFrames(log: string, pageBytes: number): Generator<{ readonly page: number; readonly start: Buffer }> {
  if (sizeOf(log) <= LOG_HEADER_BYTES) return
  const descriptor = openSync(log, 'r')
  try {
    const salts = readFrom(descriptor, 0, LOG_HEADER_BYTES).subarray(16, 24)
    const end = fstatSync(descriptor).size
    const frameBytes = FRAME_HEADER_BYTES + pageBytes
    for (let at = LOG_HEADER_BYTES; at + frameBytes <= end; at += frameBytes) {
      const frame = readFrom(descriptor, at, FRAME_HEADER_BYTES + HEADER_BYTES)
      // The frames that follow are left of an earlier log.
      if (!frame.subarray(8, 16).equals(salts)) return
      yield { page: frame.readUInt32BE(0), start: frame.subarray(FRAME_HEADER_BYTES) }
    }
  } finally {
    closeSync(descriptor)
  }
}

function headerOf(bytes: Buffer): Header {
  const size = bytes.readUInt16BE(16)
  return {
    pageBytes: size === 1 ? 65_536 : size,
    version: bytes.readUInt8(18),
    changeCount: bytes.readUInt32BE(24),
    pages: bytes.readUInt32BE(28),
    logCount: bytes.readInt32BE(60),
    isCurrent: bytes.readUInt32BE(24) === bytes.readUInt32BE(92),
  }
}

/** Returns the size of a file in bytes; 0 where there is none, also where a folder of its path is a file. */
function sizeOf(file: string): number {
  return existsSync(file) ? (statSync(file, { throwIfNoEntry: false })?.size ?? 0) : 0
}

function readStart(file: string, bytes: number): Buffer {
  const descriptor = openSync(file, 'r')
  try {
    return readFrom(descriptor, 0, bytes)
  } finally {
    closeSync(descriptor)
  }
}
