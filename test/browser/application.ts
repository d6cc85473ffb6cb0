/**
 * An application on loopback: a page with the element under a strict content security policy, the status of a session,
 * and its requests for the browser.
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'

const ELEMENT = join(import.meta.dirname, '../../dist/sdk/element.js')
const policyOf = (verifierUrl: string): string =>
  `default-src 'none'; script-src 'self'; connect-src 'self' ${verifierUrl}; base-uri 'none'; require-trusted-types-for 'script'`
/** Notes the events of the element for the tests. */
const SCRIPT = `import '/element.js'
window.heard = []
for (const type of ['statuschange', 'end', 'renew']) {
  document.addEventListener(type, (event) => window.heard.push([type, event.detail?.status ?? ''].join(' ').trim()))
}`

export interface Application {
  readonly url: string
  /** The answer to the next question for the status: JSON, or a status of HTTP without any. */
  answer: object | number
  /** Tells whether the status is a stream, on which `send` puts the answer. */
  isStream: boolean
  send(): void
  /** Breaks the open streams. */
  cut(): void
  /** The number of open streams. */
  readonly streams: number
  /** The number of questions for the status. */
  readonly questions: number
  /** The answer to who fetches the requests for the browser at `/digital`: JSON, or a status of HTTP with an error. */
  digital: object | number
  /** The answer to who posts a response there, and what was posted. */
  receipt: object | number
  readonly posted: unknown[]
  /** The address of a page. */
  page(parts: PageParts): string
  close(): void
}

interface PageParts {
  readonly attributes: Readonly<Record<string, string>>
  readonly language?: string
  readonly scheme?: 'light' | 'dark'
}

/** Starts the application, whose pages may call the verifier. */
export async function startApplication(verifierUrl = ''): Promise<Application> {
  const streams = new Set<ServerResponse>()
  let questions = 0
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    response.setHeader('content-security-policy', policyOf(verifierUrl))
    if (pathname === '/digital') {
      void sendDigital(request, response)
    } else if (pathname === '/status') {
      questions++
      sendStatus(request, response)
    } else if (pathname === '/element.js') {
      response.setHeader('content-type', 'text/javascript').end(readFileSync(ELEMENT))
    } else if (pathname === '/page.js') {
      response.setHeader('content-type', 'text/javascript').end(SCRIPT)
    } else {
      const parts = JSON.parse(searchParams.get('parts') ?? '{"attributes":{}}') as PageParts
      response.setHeader('content-type', 'text/html; charset=utf-8').end(pageText(parts))
    }
  })
  const sendStatus = (request: IncomingMessage, response: ServerResponse): void => {
    if (typeof application.answer === 'number') {
      response.writeHead(application.answer).end()
    } else if (application.isStream) {
      response.setHeader('content-type', 'text/event-stream')
      // A look that came before the stream is cancelled.
      const isLook = request.headers.accept?.includes('application/json') === true
      if (!isLook) {
        streams.add(response)
        response.once('close', () => streams.delete(response))
      }
      sendEvent(response)
    } else response.setHeader('content-type', 'application/json').end(JSON.stringify(application.answer))
  }
  const sendDigital = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'POST') application.posted.push(await json(request))
    const answer = request.method === 'POST' ? application.receipt : application.digital
    response.setHeader('content-type', 'application/json')
    if (typeof answer === 'number') response.writeHead(answer).end('{"error":"no"}')
    else response.end(JSON.stringify(answer))
  }
  const sendEvent = (response: ServerResponse): void => {
    response.write(`event: status\ndata: ${JSON.stringify(application.answer)}\n\n`)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const application: Application = {
    url,
    answer: { status: 'STARTED' },
    isStream: false,
    digital: 404,
    receipt: {},
    posted: [],
    send: () => streams.forEach(sendEvent),
    cut: () => {
      for (const response of streams) response.destroy()
    },
    get streams() {
      return streams.size
    },
    get questions() {
      return questions
    },
    page: (parts) => `${url}/?parts=${encodeURIComponent(JSON.stringify(parts))}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return application
}

function pageText({ attributes, language = 'en', scheme = 'light' }: PageParts): string {
  const list = Object.entries(attributes).map(([name, value]) => `${name}="${escapeText(value)}"`)
  return `<!doctype html>
<html lang="${language}">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <meta name="color-scheme" content="${scheme}">
  <title>Student discount</title>
  <script type="module" src="/page.js"></script>
</head>
<body><main><h1>Student discount</h1><vouchsafe-request ${list.join(' ')}></vouchsafe-request></main></body>
</html>`
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
