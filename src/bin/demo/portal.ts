/**
 * The university's page in the demo, to which the issuer redirects people whose wallets request a card. It treats
 * everybody as Ada Lovelace; a real page would have people log in first.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { parseJsonObject, stringMemberOf } from '../../codec/json.ts'
import { escapeHtml } from '../../http/browser-page.ts'
import { endFailedRequest } from '../failed-request.ts'
import { chooseDefaultHost, closeServer } from '../network.ts'
import { type ApiResult, callService, requireSuccess } from './calls.ts'
import { dataset } from './data.ts'
import type { DemoService } from './services.ts'

export interface Portal {
  /** Called for each request of the page to the issuer. */
  onCall?: (result: ApiResult) => void
  readonly close: () => Promise<void>
}

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
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
  const request = parseJsonObject(text)
  const question = `<p>A wallet that calls itself ${escapeHtml(stringMemberOf(request, 'client_id') ?? '')} asks for your student card.
It will go to <b>${escapeHtml(stringMemberOf(request, 'redirect_uri') ?? '')}</b>. Is that your wallet?</p>
<form method="post"><button>Give me my student card</button></form>`
  const body = status === 200 ? question : '<p>This link is over. Begin anew in your wallet.</p>'
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Example University</title><h1>Example University</h1>${body}</html>`
}
