/**
 * Receives the redirect of the browser for the wallet on the command line: one request to a loopback address. RFC 8252
 * section 7.3.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { pathOf, queryOf } from '../../codec/url.ts'
import { PAGE_STYLE_SOURCE, pageHtml } from '../../http/browser-page.ts'
import type { BrowserVisit } from '../../wallet/context.ts'
import { WalletError } from '../../wallet/error.ts'
import { closeServer } from '../network/network.ts'

export interface VisitOptions {
  /** Shows the URL to the person, or opens it in a browser. */
  readonly show: (address: string) => Promise<void>
  /** The time limit for the person. */
  readonly seconds: number
}

type Answer = readonly [status: number, text: string]

const HOST = '127.0.0.1'
const PATH = '/callback'
const MAX_HEADER_BYTES = 16_384
const REQUEST_MS = 10_000
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; img-src data:`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
}

/** Listens at a free port until the visit ends. */
export async function startBrowserVisit({ show, seconds }: VisitOptions): Promise<BrowserVisit> {
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: REQUEST_MS })
  server.listen(0, HOST)
  await once(server, 'listening')
  const host = `${HOST}:${(server.address() as AddressInfo).port}`
  const query = waitForQuery(server, host)
  return {
    redirectUri: `http://${host}${PATH}`,
    sendPerson: async (address) => {
      await show(address)
      return limitTime(query, seconds)
    },
    close: () => closeServer(server),
  }
}

/** Resolves with the query of the first request that is the redirect; others are ignored. */
function waitForQuery(server: Server, host: string): Promise<string> {
  return new Promise((resolve) => {
    let isOver = false
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const refusal = refusalOf(request, host, isOver)
      if (refusal !== undefined) {
        sendAnswer(response, refusal)
        return
      }
      isOver = true
      const { url = '' } = request
      // The response is sent before the connection is closed.
      response.once('close', () => resolve(queryOf(url)))
      sendAnswer(response, [
        200,
        'The wallet has the answer of the issuer. You can close this page, and continue in the wallet.',
      ])
    })
  })
}

function refusalOf({ headers, method, url = '' }: IncomingMessage, host: string, isOver: boolean): Answer | undefined {
  // Refuses other host names, against DNS rebinding.
  if (headers.host !== host || pathOf(url) !== PATH) return [404, 'There is nothing here.']
  if (method !== 'GET') return [405, 'Only GET is allowed here.']
  return isOver ? [410, 'The wallet has an answer already.'] : undefined
}

async function limitTime(query: Promise<string>, seconds: number): Promise<string> {
  const waiting = new AbortController()
  const late = wait(seconds * 1000, undefined, { signal: waiting.signal }).then(() => {
    const why = `nobody came back from the page of the issuer within ${Math.ceil(seconds / 60)} minutes; begin anew`
    throw new WalletError('not_yet', why)
  })
  try {
    return await Promise.race([query, late])
  } finally {
    late.catch(() => undefined)
    waiting.abort()
  }
}

function sendAnswer(response: ServerResponse, [status, text]: Answer): void {
  response.writeHead(status, HEADERS).end(pageHtml('Wallet', [`<p>${text}</p>`]))
}
