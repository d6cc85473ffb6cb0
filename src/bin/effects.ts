/** The outside world, in one place: files, clock, randomness, log. Everything else gets them passed in. */
import { randomFillSync } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { destination, type Logger, pino } from 'pino'
import type { Files } from '../config/files.ts'
import { openSqlite } from '../store/sqlite.ts'
import type { Migration, Store } from '../store/store.ts'

export const now = (): Date => new Date()

export const files: Files = {
  read: (path) => readFileSync(path, 'utf8'),
  list: (directory) => readdirSync(directory).sort(),
}

/** Random bytes, drawn from the system a page at a time: a call of its own for each salt costs more than the salt's hash. */
export const random = pooledRandom(8192)

function pooledRandom(poolBytes: number): (bytes: number) => Uint8Array {
  let pool = Buffer.alloc(0)
  let used = 0
  return (bytes) => {
    if (used + bytes > pool.length) {
      pool = randomFillSync(Buffer.alloc(Math.max(poolBytes, bytes)))
      used = 0
    }
    used += bytes
    return pool.subarray(used - bytes, used)
  }
}

/** One JSON line per event, on stdout or in a file. What must not be logged is not passed to it; redaction comes second. */
export function createLog(service: string, file?: string): Logger {
  const options = {
    base: { service },
    messageKey: 'message',
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: ['*.authorization', '*.password', '*.token', '*.credential', '*.vp_token', '*.claims'],
  }
  return file === undefined ? pino(options) : pino(options, destination({ dest: file, sync: true }))
}

/** Opens the embedded database, making its directory for this user alone. */
export function openDatabase<C>(file: string, migrations: readonly Migration[]): Promise<Store<C>> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  return openSqlite<C>(file, migrations)
}
