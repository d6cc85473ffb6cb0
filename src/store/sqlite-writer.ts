/** The thread that writes to an SQLite database; bundled into a file of its own (`build/bundle.js`). */
import { workerData } from 'node:worker_threads'
import { answerQuestions, onceOpened } from '../thread/answering.ts'
import { openSqlite } from './sqlite.ts'
import type { Migration } from './store.ts'

export interface WriterData {
  readonly file: string
  readonly migrations: readonly Migration[]
}

export type Writing = 'commit' | 'purge' | 'tidy' | 'close'

type Writer = Readonly<Record<Writing, (...args: readonly unknown[]) => Promise<unknown>>>

const { file, migrations } = workerData as WriterData
const opened = onceOpened(() => openSqlite(file, migrations) as Promise<unknown> as Promise<Writer>)

answerQuestions(async ([verb, ...args]: [Writing, ...unknown[]]) => {
  const writer = await opened()
  return writer[verb](...args)
})
