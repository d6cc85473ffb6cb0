/**
 * Checks the file of an embedded database before SQLite opens it. SQLite applies any WAL or journal beside a file, even
 * that of another database, and creates a missing database. SQLite documentation, Database File Format, The Database
 * Header and The Write-Ahead Log.
 */
import { closeSync, existsSync, fstatSync, openSync, statSync } from 'node:fs'
import { generationFile } from './generation-file.ts'
import { openIfThere, readFrom, readJournal } from './rollback-journal.ts'

/** The suffixes of the files of a database: main file, write-ahead log, shared memory, and rollback journal. */
export const FILE_ENDS = ['', '-wal', '-shm', '-journal'] as const

const HEADER_BYTES = 100
const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** The first byte that SQLite locks, which has a page of its own. */
const LOCK_BYTE = 2 ** 30
/** The read and write version of a file in WAL mode. */
const WAL_VERSION = 2

interface Header {
  readonly pageBytes: number
  readonly pages: number
  readonly version: number
  /** The file change counter, modulo 2^32, which SQLite increments with each transaction that writes page 1. */
  readonly changeCount: number
  /** The number of WALs that the database has had, which the store increments with each new one. */
  readonly walCount: number
  /** Whether the page count in the header is valid. */
  readonly isCurrent: boolean
}

/** Returns why the database must not be opened, and what to do; undefined if it may be opened. */
export function findFileProblem(file: string): string | undefined {
  if (file === ':memory:') return undefined
  const kindProblem = findKindProblem(file)
  if (kindProblem !== undefined) return kindProblem
  const size = sizeOf(file)
  if (size === 0) return findMissingFileProblem(file)
  // SQLite itself refuses a file that is not a database.
  if (!isSqliteFile(file)) return undefined
  const header = readStart(file, HEADER_BYTES)
  const main = headerOf(header)
  // Checks twice, since another process may start a transaction between the two reads.
  const journalProblem = findForeignJournalProblem(file) && findForeignJournalProblem(file)
  if (journalProblem !== undefined) return journalProblem
  if (sizeOf(`${file}-wal`) > WAL_HEADER_BYTES) {
    // A checkpoint of another process may run between the two reads.
    return findForeignWalProblem(file) && findForeignWalProblem(file)
  }
  if (main.isCurrent && size < main.pages * main.pageBytes) {
    return `the file has ${size} bytes and says that it has ${main.pages * main.pageBytes}: it was cut off; put back a backup`
  }
  return undefined
}

/** Tests whether a file begins as those of SQLite do. */
export function isSqliteFile(file: string): boolean {
  const header = readStart(file, HEADER_BYTES)
  return header.length === HEADER_BYTES && header.toString('latin1', 0, 15) === 'SQLite format 3'
}

/** Returns a problem if the path leads to something other than a file. */
export function findKindProblem(file: string): string | undefined {
  const stat = existsSync(file) ? statSync(file, { throwIfNoEntry: false }) : undefined
  if (stat === undefined || stat.isFile()) return undefined
  return stat.isDirectory() ? 'it is a directory; name a file' : 'it is not a regular file; name a file'
}

/** Tests whether there is a file that may be opened. Returns false as well for a file that cannot be read. */
export function isUsableFile(file: string): boolean {
  try {
    return existsSync(file) && findFileProblem(file) === undefined
  } catch {
    return false
  }
}

/** The state of a database file that is in use. */
export interface FileState {
  /** Whether all pages are in the file or in the WAL. */
  readonly isWhole: boolean
  /** Whether the file is in WAL mode, unlike a copy by `vacuum into`. */
  readonly hasWal: boolean
  /** The number of WALs that the database has had, which only increases. */
  readonly walCount: number
}

/** The open file of an embedded database, for reading beside SQLite. */
export interface OpenedFile {
  /** Returns the state of the file; undefined if the file is shorter than a header. */
  readState(): FileState | undefined
  /** Closes the file. Must be called after SQLite has closed the database. */
  close(): void
}

/**
 * Opens the file of a database that SQLite has open in this process. The file must stay open: closing any descriptor of
 * a file releases all POSIX locks of the process on it, including SQLite's. SQLite documentation, How To Corrupt An
 * SQLite Database File, POSIX advisory locks.
 */
export function openDatabaseFile(file: string): OpenedFile {
  const descriptor = openSync(file, 'r')
  const readOneState = (): FileState | undefined => {
    const header = readFrom(descriptor, 0, HEADER_BYTES)
    if (header.length < HEADER_BYTES) return undefined
    const { pages, pageBytes, version, walCount } = headerOf(header)
    const countPages = () => Math.floor(fstatSync(descriptor).size / pageBytes)
    const isWhole = countPages() >= pages || hasPages(`${file}-wal`, pageBytes, { countPages, last: pages })
    return { isWhole, hasWal: version === WAL_VERSION, walCount }
  }
  return {
    readState: () => {
      const state = readOneState()
      // A file that is being compacted may be shorter than its header says; the second read is correct.
      return state?.isWhole === false ? readOneState() : state
    },
    close: () => closeSync(descriptor),
  }
}

/**
 * Tests whether the WAL has all pages that the file lacks. Pages are only in the WAL during a checkpoint, after an
 * interrupted one, and after one that skipped pages because of a reader. The size of the file is read after the WAL,
 * since the WAL restarts only when the file has all pages.
 */
function hasPages(
  wal: string,
  pageBytes: number,
  { countPages, last }: { readonly countPages: () => number; readonly last: number },
): boolean {
  // The lock-byte page is never written. SQLite documentation, The Lock-Byte Page.
  const pages = new Set([LOCK_BYTE / pageBytes + 1])
  for (const { page } of readFrames(wal, pageBytes)) pages.add(page)
  for (let page = countPages() + 1; page <= last; page += 1) if (!pages.has(page)) return false
  return true
}

function findMissingFileProblem(file: string): string | undefined {
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
 * Returns a problem if the WAL belongs to another file. The file's number of WALs is one less than that of the first
 * page 1 in the WAL, or after a checkpoint equal to that of another page 1.
 */
function findForeignWalProblem(file: string): string | undefined {
  const main = headerOf(readStart(file, HEADER_BYTES))
  const advice = `${file}-wal is the log of another state of the database, as it is left where a backup is put back: take it and ${file}-shm away if the file is the one that you want, or put back the file that the log belongs to`
  if (main.version !== WAL_VERSION) return advice
  const counts = readWalCounts(`${file}-wal`, main.pageBytes)
  if (counts === undefined) return advice
  const [first] = counts
  return first === undefined || main.walCount === first - 1 || counts.includes(main.walCount) ? undefined : advice
}

/**
 * Returns a problem if the journal belongs to another file. Its page 1 must be that of the file or of one change
 * before; a journal without page 1 must have the same number of pages.
 */
function findForeignJournalProblem(file: string): string | undefined {
  const main = headerOf(readStart(file, HEADER_BYTES))
  const journal = readJournal(`${file}-journal`)
  if (journal === undefined) return undefined
  const before = journal.firstPage && headerOf(journal.firstPage)
  const changes = before && (main.changeCount - before.changeCount) >>> 0
  const belongs = before
    ? (changes === 0 || changes === 1) && main.walCount === before.walCount
    : main.pages === journal.pages
  if (belongs) return undefined
  return `${file}-journal is the journal of another state of the database, as it is left where a backup is put back: take it away if the file is the one that you want, or put back the file that the journal belongs to`
}

/**
 * Returns the numbers of WALs in the copies of page 1 in a WAL, in order; undefined if the page size differs. There are
 * none once another process has emptied the WAL or taken it away, as the last one that closes a database does.
 */
function readWalCounts(wal: string, pageBytes: number): readonly number[] | undefined {
  const header = readWalHeader(wal)
  if (header.length < WAL_HEADER_BYTES) return []
  if (header.readUInt32BE(8) !== pageBytes) return undefined
  const firstPages = [...readFrames(wal, pageBytes)].filter(({ page }) => page === 1)
  return firstPages.map(({ start }) => headerOf(start).walCount)
}

/** Returns the header of a WAL; shorter or empty if there is none. */
function readWalHeader(wal: string): Buffer {
  const descriptor = openIfThere(wal)
  if (descriptor === undefined) return Buffer.alloc(0)
  try {
    return readFrom(descriptor, 0, WAL_HEADER_BYTES)
  } finally {
    closeSync(descriptor)
  }
}

/** Yields the frames of a WAL: the page number, and the first bytes of the page. */
function* readFrames(wal: string, pageBytes: number): Generator<{ readonly page: number; readonly start: Buffer }> {
  const descriptor = openIfThere(wal)
  if (descriptor === undefined) return
  try {
    const salts = readFrom(descriptor, 0, WAL_HEADER_BYTES).subarray(16, 24)
    const end = fstatSync(descriptor).size
    const frameBytes = FRAME_HEADER_BYTES + pageBytes
    for (let at = WAL_HEADER_BYTES; at + frameBytes <= end; at += frameBytes) {
      const frame = readFrom(descriptor, at, FRAME_HEADER_BYTES + HEADER_BYTES)
      // The following frames are left from an earlier WAL.
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
    walCount: bytes.readInt32BE(60),
    isCurrent: bytes.readUInt32BE(24) === bytes.readUInt32BE(92),
  }
}

/** Returns the size of a file in bytes; 0 if it does not exist, or a file is in place of a directory of its path. */
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
