/**
 * The storage port on SQLite with a separate thread for writes. A commit waits for the disk, and must not delay
 * requests that write nothing. Commits that arrive during a write are written together after it, with one fsync.
 * The file is checked for damage in a third thread, so that no commit waits for a check.
 */
import { createWorkerClient, type WorkerClient } from '../thread/worker-client.ts'
import { connectSqlite, createSqliteStore } from './sqlite.ts'
import type { DamageReport } from './sqlite-check.ts'
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

/**
 * Checks a database for damage in a thread that ends with the check, since an idle thread would keep some megabytes of
 * memory. `workerFile` is `sqlite-check-thread.ts`, bundled.
 */
export async function findDamageInThread(file: string, workerFile: string): Promise<DamageReport> {
  const thread = createWorkerClient(workerFile, undefined)
  try {
    return (await thread.call(file)) as DamageReport
  } finally {
    await thread.end()
  }
}

/** Creates a writer whose methods run in the thread. */
function createThreadWriter(thread: WorkerClient): SqliteWriter {
  const call = <T>(...request: WriterRequest): Promise<T> => thread.call(request) as Promise<T>
  return {
    write: (batches) => call('write', batches),
    purge: (table, now) => call('purge', table, now),
    tidy: () => call('tidy'),
    close: () => call('close'),
  }
}
