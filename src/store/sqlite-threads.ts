/**
 * The storage port on SQLite with a thread of its own for what is written: a commit waits for the disk, and no request
 * should wait with it that has nothing to commit. What comes meanwhile is written together, with the next fsync.
 */
import { createWorkerClient } from '../thread/worker-client.ts'
import { openSqlite } from './sqlite.ts'
import type { WriterData, Writing } from './sqlite-writer.ts'
import type { Migration, Store } from './store.ts'

/** Opens a database as {@link openSqlite} does. `workerFile` is `sqlite-writer.ts`, bundled. */
export async function openSqliteInThreads<C>(
  file: string,
  migrations: readonly Migration[],
  workerFile: string,
): Promise<Store<C>> {
  const reader = await openSqlite<C>(file, migrations)
  const thread = createWorkerClient(workerFile, { file, migrations } satisfies WriterData)
  const ask = <T>(verb: Writing, ...args: readonly unknown[]): Promise<T> => thread.call([verb, ...args]) as Promise<T>
  return {
    get: (collection, id) => reader.get(collection, id),
    list: (collection) => reader.list(collection),
    due: (collection, now, limit) => reader.due(collection, now, limit),
    newest: (collection, limit, after) => reader.newest(collection, limit, after),
    origin: () => reader.origin(),
    commit: async (changes) => changes[await ask<number>('commit', changes)],
    purge: (collection, now) => ask('purge', collection, now),
    tidy: () => ask('tidy'),
    close: async () => {
      try {
        await ask('close')
      } finally {
        await thread.end()
        await reader.close()
      }
    },
  }
}
