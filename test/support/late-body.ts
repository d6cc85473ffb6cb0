/** A request whose body arrives after the service has decided on its headers. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { App } from '../../src/http/app-type.ts'

export interface LateRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Lets an app of a test listen, as only a socket brings headers and body apart. */
export async function listen(app: App): Promise<void> {
  await app.listen({ host: '127.0.0.1', port: 0 })
}

/** Sends the headers, waits until the service wants the body, runs `between`, and sends the body. */
export async function postLate(
  app: App,
  { path, headers, body }: LateRequest,
  between: () => unknown,
): Promise<Response> {
  const { port } = app.server.address() as AddressInfo
  const arrived = new Promise<IncomingMessage>((resolve) => app.server.once('request', resolve))
  const length = String(Buffer.byteLength(body))
  const options = { host: '127.0.0.1', port, method: 'POST', path, agent: false }
  const sent = httpRequest({ ...options, headers: { ...headers, 'content-length': length } })
  const answered = new Promise<IncomingMessage>((resolve, reject) =>
    sent.once('response', resolve).once('error', reject),
  )
  sent.flushHeaders()
  const received = await arrived
  // The hooks on headers are done when the first listener for parts of the body comes.
  const firstListener = new Promise<void>((resolve) => {
    received.on('newListener', (event) => event === 'data' && resolve())
  })
  await Promise.race([firstListener, answered])
  await between()
  sent.end(body)
  const answer = await answered
  const fields = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string])
  const status = answer.statusCode ?? 0
  const content = await text(answer)
  return new Response(status === 204 ? null : content, { status, headers: fields })
}
