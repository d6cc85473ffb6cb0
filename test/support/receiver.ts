/** An application that callbacks are sent to: a server on this machine that keeps the callbacks. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface PostedCallback {
  readonly headers: IncomingHttpHeaders
  /** The request as it came over the wire. */
  readonly body: string
  readonly event: {
    readonly id: string
    readonly type: string
    readonly timestamp: string
    readonly data: { readonly session_id: string; readonly status: string; readonly [member: string]: unknown }
  }
}

export interface Receiver {
  readonly url: string
  readonly posted: readonly PostedCallback[]
  /** Waits until as many have come, at the latest when the test takes too long. */
  whenPosted(count: number): Promise<readonly PostedCallback[]>
}

/** Starts an application for one test; `answer` takes everything when it is absent. */
export async function startReceiver(
  answer: (posted: PostedCallback, response: ServerResponse) => void = (_posted, response) =>
    response.writeHead(204).end(),
): Promise<Receiver> {
  const posted: PostedCallback[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const one: PostedCallback = { headers: request.headers, body, event: JSON.parse(body) as PostedCallback['event'] }
      posted.push(one)
      answer(one, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events?from=vouchsafe`,
    posted,
    whenPosted: async (count) => {
      while (posted.length < count) await new Promise((resolve) => setTimeout(resolve, 20))
      return posted
    },
  }
}
