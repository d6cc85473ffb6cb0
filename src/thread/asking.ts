/**
 * A thread that is asked questions, any number at once, and answers each. It keeps no process alive that waits for no answer, and one
 * that ended by itself is followed by another with the next question.
 */
import { Worker } from 'node:worker_threads'

export interface Question {
  readonly id: number
  readonly question: unknown
}

/** `error`: with all that the error had of its own, such as a code. */
export type Answer = { readonly id: number } & (
  | { readonly result: unknown }
  | { readonly error: { readonly message: string; readonly [more: string]: unknown } }
)

export interface AskedThread {
  /** Rejects with what the thread threw, as an Error with the same properties; and when the thread ends before it has answered. */
  ask(question: unknown): Promise<unknown>
  /** Ends it for good. What was not answered is rejected, and so is what is asked later. */
  end(): Promise<void>
}

/** `file` is a program that calls `answerQuestions`; `data` is its `workerData`. */
export function askedThread(file: string, data: unknown): AskedThread {
  let current: Started | undefined
  let isOver = false
  const begin = (): Started => {
    const begun = start(file, data, () => {
      if (current === begun) current = undefined
    })
    return begun
  }
  return {
    ask: async (question) => {
      if (isOver) throw new Error('the thread has ended')
      current ??= begin()
      return current.ask(question)
    },
    end: async () => {
      isOver = true
      await current?.worker.terminate()
    },
  }
}

interface Started {
  readonly worker: Worker
  readonly ask: AskedThread['ask']
}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

function start(file: string, data: unknown, ended: () => void): Started {
  const worker = new Worker(file, { workerData: data })
  worker.unref()
  const waiting = new Map<number, Waiting>()
  let asked = 0
  worker.on('message', (answer: Answer) => {
    const asker = waiting.get(answer.id)
    waiting.delete(answer.id)
    if (waiting.size === 0) worker.unref()
    if ('result' in answer) asker?.resolve(answer.result)
    else asker?.reject(Object.assign(new Error(), answer.error))
  })
  const end = (why: string): void => {
    ended()
    for (const { reject } of waiting.values()) reject(new Error(`the thread ended before it answered: ${why}`))
    waiting.clear()
  }
  worker.on('error', ({ message }: Error) => end(message))
  worker.on('exit', (code) => end(`exit ${code}`))
  const ask = (question: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = asked++
      worker.postMessage({ id, question } satisfies Question)
      waiting.set(id, { resolve, reject })
      worker.ref()
    })
  return { worker, ask }
}
