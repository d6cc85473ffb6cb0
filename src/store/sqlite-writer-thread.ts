/** The program of the thread that writes to an SQLite database; bundled into a file of its own (`build/bundle.js`). */
import { workerData } from 'node:worker_threads'
import { cacheValue } from '../async/cache.ts'
import { serveRequests } from '../thread/worker-server.ts'
import { connectSqlite } from './sqlite.ts'
import { createWriter, type SqliteWriter } from './sqlite-writer.ts'
import type { Migration } from './store.ts'

export interface WriterData {
  readonly file: string
  readonly migrations: readonly Migration[]
}

/** A request to the thread: the name of a method of the writer, and its arguments. */
export type WriterRequest = readonly [verb: keyof SqliteWriter, ...args: readonly unknown[]]

type Verbs = Readonly<Record<keyof SqliteWriter, (...args: readonly unknown[]) => Promise<unknown>>>

const { file, migrations } = workerData as WriterData
const writer = cacheValue(async () => createWriter(await connectSqlite(file, migrations)))

serveRequests(async ([verb, ...args]: WriterRequest) => {
  const verbs = (await writer.get()) as unknown as Verbs
  return verbs[verb](...args)
})
