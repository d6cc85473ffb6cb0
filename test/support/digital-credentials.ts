/** Sessions whose page asks the browser: the request that the page fetches, and what it posts afterwards. */
import { type JsonObject, stringMemberOf } from '../../src/codec/json.ts'
import { readJws } from '../../src/codec/jws.ts'
import { type Services, VERIFIER_URL } from './services.ts'
import { call, dcqlQuery, type RequestObject } from './wire.ts'

/** The origin of the page. */
export const ORIGIN = 'https://shop.example'
export const SIGNED = 'openid4vp-v1-signed'
export const UNSIGNED = 'openid4vp-v1-unsigned'

/** The answer to the application that starts a session with an origin. */
export interface StartedPage {
  readonly session_id: string
  readonly request_uri?: string
  readonly digital_credentials_uri: string
}

/** Stores the query, and asks for a session whose page has the origin; `more` replaces members. */
export async function requestPageSession(services: Services, query: unknown, more: object = {}): Promise<Response> {
  const created = await call(services, `${VERIFIER_URL}/verification-query/create`, { dcql_query: query })
  if (created.status !== 201) throw new Error(await created.text())
  const body = { verification_query_id: await created.text(), origin: ORIGIN, ...more }
  return call(services, `${VERIFIER_URL}/presentation/oid4vp/new-session`, body)
}

export async function startPageSession(
  services: Services,
  query: unknown = dcqlQuery,
  more: object = {},
): Promise<StartedPage> {
  const response = await requestPageSession(services, query, more)
  if (response.status !== 200) throw new Error(await response.text())
  return (await response.json()) as StartedPage
}

/** Fetches the request as the page does; the JWS of the signed one, and the members of the unsigned one. */
export async function fetchPageRequest(services: Services, { digital_credentials_uri: uri }: StartedPage) {
  const response = await services.fetch(uri)
  if (response.status !== 200) throw new Error(await response.text())
  const body = (await response.json()) as { digital: { requests: { protocol: string; data: JsonObject }[] } }
  const dataOf = (protocol: string): JsonObject =>
    body.digital.requests.find((each) => each.protocol === protocol)?.data ?? {}
  return { body, signed: readJws(stringMemberOf(dataOf(SIGNED), 'request') ?? ''), unsigned: dataOf(UNSIGNED) }
}

/** Returns the request as presentations are made for it: the audience is the origin, whoever signed the request. */
export function asRequestObject(unsigned: JsonObject): RequestObject {
  return { ...(unsigned as unknown as RequestObject), client_id: `origin:${ORIGIN}` }
}

/** Posts what the browser gave to the page. */
export function postCredential(
  services: Services,
  { digital_credentials_uri: uri }: StartedPage,
  credential: unknown,
): Promise<Response> {
  const body = typeof credential === 'string' ? credential : JSON.stringify(credential)
  return services.fetch(uri, { method: 'POST', headers: { 'content-type': 'application/json', origin: ORIGIN }, body })
}
