/** A client of server-sent events over a socket of its own. */

import { once } from 'node:events'
import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import type { App } from '../../src/http/app-type.ts'
import { authorization } from './wire.ts'

export interface ReceivedEvent {
  readonly event: string
  readonly data: Record<string, unknown>
}

export interface EventClient {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  /** Returns everything that has come. */
  readonly text: () => string
  readonly events: () => readonly ReceivedEvent[]
  /** Resolves when the service has closed the connection. */
  readonly closed: Promise<unknown>
  readonly response: IncomingMessage
  /** Waits for an event, and gives its data. */
  readonly next: (at: number) => Promise<Record<string, unknown>>
  close(): void
}

/** Makes a service listen, and returns its address. */
export async function listen(app: App): Promise<string> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

/** Opens a stream, whatever the status of the answer is. */
export async function openEvents(
  url: string,
  headers: Readonly<Record<string, string>> = authorization,
): Promise<EventClient> {
  const request = get(url, { headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  response.setEncoding('utf8').on('data', (part: string) => (text += part))
  response.on('error', () => undefined)
  const events = () => eventsIn(text)
  return {
    status: response.statusCode,
    headers: response.headers,
    text: () => text,
    events,
    closed: new Promise((resolve) => response.once('close', resolve)),
    response,
    next: async (at) => {
      await expect.poll(() => events().length, { interval: 10 }).toBeGreaterThan(at)
      return events()[at]?.data ?? {}
    },
    close: () => void request.destroy(),
  }
}

function eventsIn(text: string): readonly ReceivedEvent[] {
  const blocks = text.split('\n\n').slice(0, -1)
  return blocks.flatMap((block) => {
    const [, event = '', data = ''] = /^(?:retry: \d+\n)?event: (\w+)\ndata: (.*)$/.exec(block) ?? []
    return event === '' ? [] : [{ event, data: JSON.parse(data) as Record<string, unknown> }]
  })
}
