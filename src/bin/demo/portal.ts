/**
 * The university's page in the demo, to which the issuer redirects people whose wallets request a card. It treats
 * everybody as Ada Lovelace; a real page would have people log in first.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { parseJsonObject, stringMemberOf } from '../../codec/json.ts'
import { escapeHtml, PAGE_STYLE_SOURCE, pageHtml } from '../../http/browser-page.ts'
import { endFailedRequest } from '../network/failed-request.ts'
import { chooseDefaultHost, closeServer } from '../network/network.ts'
import { type ApiResult, callService, requireSuccess } from './calls.ts'
import { dataset } from './data.ts'
import type { DemoService } from './services.ts'

export interface Portal {
  /** Called for each request of the page to the issuer. */
  onCall?: (result: ApiResult) => void
  readonly close: () => Promise<void>
}

const UNIVERSITY = 'Example University'
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; img-src data:; base-uri 'none'; frame-ancestors 'none'`,
  'content-type': 'text/html; charset=utf-8',
  'referrer-policy': 'no-referrer',
}

/** Starts the page at `port`, for people whom `issuer` redirects. */
export async function listenAsPortal(issuer: DemoService, port: number): Promise<Portal> {
  const host = await chooseDefaultHost()
  return new Promise((resolve, reject) => {
    const server = createServer((request, response) => {
      answerRequest(issuer, portal, request, response).catch((error: unknown) => {
        endFailedRequest('The page of the university failed to answer a request', error, response)
      })
    })
    const portal: Portal = { close: () => closeServer(server) }
    server.once('error', reject)
    server.listen({ port, host }, () => resolve(portal))
  })
}

async function answerRequest(
  issuer: DemoService,
  { onCall }: Portal,
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const callIssuer = async (path: string, body?: object): Promise<ApiResult> => {
    const result = await callService(issuer, path, body)
    onCall?.(result)
    return result
  }
  const id = encodeURIComponent(new URL(url, 'http://portal').searchParams.get('interaction') ?? '')
  if (method === 'POST') {
    const { text } = requireSuccess(
      await callIssuer(`/auth/interaction/complete/${id}`, { credential_dataset: dataset }),
    )
    response.writeHead(303, { location: stringMemberOf(parseJsonObject(text), 'redirect_uri') ?? '' }).end()
    return
  }
  const interaction = await callIssuer(`/auth/interaction/${id}`)
  response.writeHead(interaction.status, HEADERS).end(pageOf(interaction))
}

function pageOf({ status, text }: ApiResult): string {
  if (status !== 200) return pageHtml(UNIVERSITY, ['<p>This link has expired. Start again in your wallet.</p>'])
  const request = parseJsonObject(text)
  const member = (name: string): string => escapeHtml(stringMemberOf(request, name) ?? '')
  return pageHtml(UNIVERSITY, [
    `<p>A wallet that calls itself <strong>${member('client_id')}</strong> asks for your student card. Your data will be sent to <code>${member('redirect_uri')}</code>. Is that your wallet?</p>`,
    '<p>If not, close this page. In the demo everybody is Ada Lovelace, without a password.</p>',
    '<form method="post"><button class="button">Give me my student card</button></form>',
  ])
}
