/**
 * A client of a worker thread. Any number of requests can wait for their replies at once. The worker keeps the process
 * alive only while a request waits. A worker that ended by itself is replaced at the next request.
 */
import { Worker } from 'node:worker_threads'
import { type ErrorProperties, restoreError } from './error-properties.ts'

export interface WorkerRequest {
  readonly id: number
  readonly request: unknown
}

/** A reply with the result, or with the error. */
export type WorkerReply = { readonly id: number } & ({ readonly result: unknown } | { readonly error: ErrorProperties })

export interface WorkerClient {
  /**
   * Sends a request, and returns the result. Rejects with an Error that has the properties of the worker's error, or
   * when the worker ends before it replies.
   */
  call(request: unknown): Promise<unknown>
  /** Ends the worker for good. Rejects the requests that wait for a reply, and all later ones. */
  end(): Promise<void>
}

/** Creates a client of a worker; `file` is a program that calls `serveRequests`, and `data` is its `workerData`. */
export function createWorkerClient(file: string, data: unknown): WorkerClient {
  let current: RunningWorker | undefined
  let isOver = false
  const startWorker = (): RunningWorker => {
    const worker = runWorker(file, data, () => {
      if (current === worker) current = undefined
    })
    return worker
  }
  return {
    call: async (request) => {
      if (isOver) throw new Error('the thread has ended')
      current ??= startWorker()
      return current.call(request)
    },
    end: async () => {
      isOver = true
      await current?.worker.terminate()
    },
  }
}

interface RunningWorker {
  readonly worker: Worker
  readonly call: WorkerClient['call']
}

interface WaitingRequest {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

function runWorker(file: string, data: unknown, onEnd: () => void): RunningWorker {
  const worker = new Worker(file, { workerData: data })
  worker.unref()
  const waiting = new Map<number, WaitingRequest>()
  let nextId = 0
  worker.on('message', (reply: WorkerReply) => {
    const caller = waiting.get(reply.id)
    waiting.delete(reply.id)
    if (waiting.size === 0) worker.unref()
    if ('result' in reply) caller?.resolve(reply.result)
    else caller?.reject(restoreError(reply.error))
  })
  const rejectAll = (why: string, options?: ErrorOptions): void => {
    onEnd()
    for (const { reject } of waiting.values()) reject(new Error(`the thread ended before it answered: ${why}`, options))
    waiting.clear()
  }
  worker.on('error', (error: Error) => rejectAll(error.message, { cause: error }))
  worker.on('exit', (code) => rejectAll(`exit ${code}`))
  const call = (request: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = nextId++
      worker.postMessage({ id, request } satisfies WorkerRequest)
      waiting.set(id, { resolve, reject })
      worker.ref()
    })
  return { worker, call }
}
