/** The side of the worker: answers the requests of `worker-client.ts`. */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { readErrorProperties } from './error-properties.ts'
import type { WorkerReply, WorkerRequest } from './worker-client.ts'

/** Answers each request with the result or the error of `reply`. Requests run concurrently. */
export function serveRequests(reply: (request: never) => Promise<unknown>): void {
  const port = parentPort as MessagePort
  port.on('message', ({ id, request }: WorkerRequest) => {
    reply(request as never).then(
      (result) => port.postMessage({ id, result } satisfies WorkerReply),
      (error: unknown) => port.postMessage({ id, error: readErrorProperties(error) } satisfies WorkerReply),
    )
  })
}
