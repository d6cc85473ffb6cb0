/** The thread that writes to an SQLite database; bundled into a file of its own (`build/bundle.js`). */
import { workerData } from 'node:worker_threads'
import { cacheValue } from '../async/cache.ts'
import { serveRequests } from '../thread/worker-server.ts'
import { openSqlite } from './sqlite.ts'
import type { Migration } from './store.ts'

export interface WriterData {
  readonly file: string
  readonly migrations: readonly Migration[]
}

export type Writing = 'commit' | 'purge' | 'tidy' | 'close'

type Writer = Readonly<Record<Writing, (...args: readonly unknown[]) => Promise<unknown>>>

const { file, migrations } = workerData as WriterData
const writer = cacheValue(() => openSqlite(file, migrations) as Promise<unknown> as Promise<Writer>)

serveRequests(async ([verb, ...args]: [Writing, ...unknown[]]) => {
  const open = await writer.get()
  const result = await open[verb](...args)
  // A change that crosses to another thread is a copy there, so that its position goes instead; -1 where all applied.
  return verb === 'commit' ? (args[0] as readonly unknown[]).indexOf(result) : result
})
