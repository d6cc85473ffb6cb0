/** Ends a request that a small server of a command could not answer. */
import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { removeControlCharactersByLine } from '../terminal/terminal.ts'

/** Tests whether `error` only means that the client has disconnected. */
export function isClientGone(error: unknown): boolean {
  const { name, code } = error as NodeJS.ErrnoException
  return name === 'AbortError' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET'
}

/** Writes `error` with its stack and causes to the terminal; `what` failed. */
export function reportError(what: string, error: unknown): void {
  process.stderr.write(`${removeControlCharactersByLine(`${what}: ${inspect(error)}`)}\n`)
}

/** Reports `error`, and answers the request with 500, or aborts `response` if it has started. */
export function endFailedRequest(what: string, error: unknown, response: ServerResponse): void {
  if (!isClientGone(error)) reportError(what, error)
  if (response.headersSent) response.destroy()
  else
    response
      .writeHead(500, { connection: 'close', 'content-type': 'text/plain' })
      .end(`${what}: the terminal of the command says why.\n`)
}
