/**
 * The storage port on SQLite with a thread of its own for what is written: a commit waits for the disk, and no request
 * should wait with it that has nothing to commit. What comes meanwhile is written together, with the next fsync.
 */
import { createWorkerClient, type WorkerClient } from '../thread/worker-client.ts'
import { connectSqlite, createSqliteStore } from './sqlite.ts'
import type { SqliteWriter } from './sqlite-writer.ts'
import type { WriterData, WriterRequest } from './sqlite-writer-thread.ts'
import type { Migration, Store } from './store.ts'

/** Opens a database as {@link openSqlite} does. `workerFile` is `sqlite-writer-thread.ts`, bundled. */
export async function openSqliteInThreads<C>(
  file: string,
  migrations: readonly Migration[],
  workerFile: string,
): Promise<Store<C>> {
  const reader = await connectSqlite(file, migrations)
  const thread = createWorkerClient(workerFile, { file, migrations } satisfies WriterData)
  const writer = createThreadWriter(thread)
  return createSqliteStore(reader, {
    ...writer,
    close: async () => {
      try {
        await writer.close()
      } finally {
        await thread.end()
        reader.close()
      }
    },
  })
}

/** Creates the writer that has a thread write. */
function createThreadWriter(thread: WorkerClient): SqliteWriter {
  const call = <T>(...request: WriterRequest): Promise<T> => thread.call(request) as Promise<T>
  return {
    write: (batches) => call('write', batches),
    purge: (table, now) => call('purge', table, now),
    tidy: () => call('tidy'),
    close: () => call('close'),
  }
}
