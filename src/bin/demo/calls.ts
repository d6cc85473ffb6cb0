/** The calls of the applications in the demo to the services, with an API key. */
import { parseJsonObject, stringMemberOf } from '../../codec/json.ts'
import type { DescribedReport } from '../../verifier/check-descriptions.ts'
import type { DemoService } from './services.ts'

export interface ApiResult {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly status: number
  readonly text: string
}

/** The members of a session status that the demo uses. */
export interface Status {
  readonly status: string
  readonly result?: DescribedReport
  readonly wallet_error?: { readonly error: string; readonly error_description?: string }
}

const LIMIT_MS = 10_000

export async function callService(service: DemoService, path: string, body?: object): Promise<ApiResult> {
  const url = `${service.url}${path}`
  const method = body === undefined ? 'GET' : 'POST'
  const json = body === undefined ? {} : { body: JSON.stringify(body) }
  const headers = {
    authorization: `Bearer ${service.apiKey}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const response = await fetch(url, { method, headers, signal: AbortSignal.timeout(LIMIT_MS), ...json })
  return { url, method, status: response.status, text: await response.text() }
}

/** Returns a successful result. Throws the refusal otherwise. */
export function requireSuccess(answer: ApiResult): ApiResult {
  if (answer.status < 300) return answer
  throw new Error(`${answer.method} ${answer.url} answered ${answer.status}: ${answer.text}`)
}

export async function fetchStatus(
  service: DemoService,
  kind: 'issuance' | 'presentation',
  sessionId: string,
): Promise<Status> {
  const path = kind === 'issuance' ? '/issuance/oid4vci/status/' : '/presentation/oid4vp/status/'
  return JSON.parse(requireSuccess(await callService(service, path + sessionId)).text) as Status
}

/** A session, and the link for a wallet. */
export interface StartedSession {
  readonly sessionId: string
  readonly link: string
}

export function readStartedSession({ text }: Pick<ApiResult, 'text'>): StartedSession {
  const answer = parseJsonObject(text)
  const link = stringMemberOf(answer, 'credential_offer_uri') ?? stringMemberOf(answer, 'request_uri')
  return { sessionId: stringMemberOf(answer, 'session_id') ?? '', link: link ?? '' }
}
