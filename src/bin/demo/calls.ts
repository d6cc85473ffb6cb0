/** The calls of the applications that use the services: those with an API key. */
import { ownString, parseJsonObject } from '../../codec/json.ts'
import type { Report } from '../../verifier/verification.ts'
import type { DemoService } from './services.ts'

export interface Answer {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly status: number
  readonly text: string
}

/** What a status endpoint says, as far as the demo looks at it. */
export interface Status {
  readonly status: string
  readonly result?: Report
  readonly wallet_error?: { readonly error: string; readonly error_description?: string }
}

const LIMIT_MS = 10_000

export async function call({ baseUrl, apiKey }: DemoService, path: string, body?: object): Promise<Answer> {
  const url = `${baseUrl}${path}`
  const method = body === undefined ? 'GET' : 'POST'
  const json = body === undefined ? {} : { body: JSON.stringify(body) }
  const headers = {
    authorization: `Bearer ${apiKey}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const response = await fetch(url, { method, headers, signal: AbortSignal.timeout(LIMIT_MS), ...json })
  return { url, method, status: response.status, text: await response.text() }
}

/** The answer when it is a good one; else throws what was refused and why. */
export function accepted(answer: Answer): Answer {
  if (answer.status < 300) return answer
  throw new Error(`${answer.method} ${answer.url} answered ${answer.status}: ${answer.text}`)
}

export async function statusOf(
  service: DemoService,
  kind: 'issuance' | 'presentation',
  sessionId: string,
): Promise<Status> {
  const path = kind === 'issuance' ? '/issuance/oid4vci/status/' : '/presentation/oid4vp/status/'
  return JSON.parse(accepted(await call(service, path + sessionId)).text) as Status
}

/** A session and the link that starts it in a wallet. */
export interface Started {
  readonly sessionId: string
  readonly link: string
}

export function startedOf({ text }: Pick<Answer, 'text'>): Started {
  const answer = parseJsonObject(text)
  const link = ownString(answer, 'credential_offer_uri') ?? ownString(answer, 'request_uri')
  return { sessionId: ownString(answer, 'session_id') ?? '', link: link ?? '' }
}
