/**
 * The chain of a directory, in a thread of its own: to run a transaction takes the processor for milliseconds, and whoever serves
 * requests meanwhile does not wait for it.
 */
import { Worker } from 'node:worker_threads'
import { type JsonRpc, JsonRpcError } from '../../chain/json-rpc.ts'

export interface Question {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** `code`: of a JsonRpcError. */
export type Answer = { readonly id: number } & (
  | { readonly result: unknown }
  | { readonly error: { readonly message: string; readonly code?: number; readonly data?: unknown } }
)

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * Begins a chain where there is none. Rejects, in words for an operator, when what is there is none. `workerFile` is
 * `local-chain-worker.ts`, bundled. The thread keeps no process alive that asks nothing, and one that ended is followed by another.
 */
export async function openLocalChain(directory: string, workerFile: string): Promise<JsonRpc> {
  let thread: ((question: Omit<Question, 'id'>) => Promise<unknown>) | undefined
  const rpc: JsonRpc = (method, params) => {
    thread ??= startThread(directory, workerFile, () => {
      thread = undefined
    })
    return thread({ method, params })
  }
  await rpc('eth_chainId', [])
  return rpc
}

function startThread(directory: string, workerFile: string, ended: () => void) {
  const waiting = new Map<number, Waiting>()
  let asked = 0
  const worker = new Worker(workerFile, { workerData: directory })
  worker.on('message', (answer: Answer) => {
    const asker = waiting.get(answer.id)
    waiting.delete(answer.id)
    if (waiting.size === 0) worker.unref()
    if ('result' in answer) asker?.resolve(answer.result)
    else asker?.reject(errorOf(answer.error))
  })
  const end = (why: string): void => {
    ended()
    for (const { reject } of waiting.values()) reject(new Error(`the thread of the local chain ended: ${why}`))
    waiting.clear()
  }
  worker.on('error', ({ message }: Error) => end(message))
  worker.on('exit', (code) => end(`exit ${code}`))
  return (question: Omit<Question, 'id'>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = asked++
      waiting.set(id, { resolve, reject })
      worker.ref()
      worker.postMessage({ id, ...question } satisfies Question)
    })
}

function errorOf({ message, code, data }: Extract<Answer, { error: unknown }>['error']): Error {
  return code === undefined ? new Error(message) : new JsonRpcError(code, message, data)
}
