/**
 * An authorization server as far as a resource server sees one: metadata, keys, introspection, and tokens that it
 * signs.
 */
import { createHmac, createPublicKey, generateKeyPair, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { JsonObject } from '../../src/codec/json.ts'
import { writeJws } from '../../src/codec/jws.ts'
import { type HttpClientRequest, type Outbound, OutboundError } from '../../src/http/outbound.ts'
import { type Algorithm, algorithms, signBytes } from '../../src/keys/signature.ts'
import { type Clock, ISSUER_URL, makeKey } from './services.ts'

export const SERVER = 'https://login.example'
export const JWKS_URI = `${SERVER}/jwks`
export const METADATA_URL = `${SERVER}/.well-known/oauth-authorization-server`
export const INTROSPECTION_URL = `${SERVER}/introspect`

export interface TestKey {
  readonly kid: string
  readonly alg: string
  readonly key: KeyObject
}

export interface TestServer {
  readonly outbound: Outbound
  /** Every request that reached it. */
  readonly requests: HttpClientRequest[]
  /**
   * The answers by address: an object is JSON, a number is an empty answer of that status, a function makes its own
   * answer.
   */
  readonly answers: Map<string, unknown>
  keys: TestKey[]
  /** Restores the first answers. */
  reset(): void
  /** How often its keys were fetched. */
  fetches(): number
}

export async function makeTestKey(alg: string, kid: string, modulusLength = 2048): Promise<TestKey> {
  if (Object.hasOwn(algorithms, alg)) return { kid, alg, key: await makeKey(alg as Algorithm) }
  return { kid, alg, key: (await promisify(generateKeyPair)('rsa', { modulusLength })).privateKey }
}

export function publicJwk({ key, kid, alg }: TestKey): JsonObject {
  return { ...(createPublicKey(key).export({ format: 'jwk' }) as JsonObject), kid, alg, use: 'sig' }
}

export function testServer(keys: TestKey[]): TestServer {
  const requests: HttpClientRequest[] = []
  const metadata = { issuer: SERVER, jwks_uri: JWKS_URI, introspection_endpoint: INTROSPECTION_URL }
  const answers = new Map<string, unknown>()
  const reset = (): void => {
    requests.length = 0
    server.keys = keys
    answers.clear()
    answers.set(METADATA_URL, metadata)
    answers.set(JWKS_URI, () => ({ keys: server.keys.map(publicJwk) }))
  }
  const outbound: Outbound = async (request) => {
    requests.push(request)
    let answer = answers.get(request.url)
    if (typeof answer === 'function') answer = await (answer as (asked: HttpClientRequest) => unknown)(request)
    if (answer === undefined) throw new OutboundError('connection refused')
    if (typeof answer === 'number') return { status: answer, headers: {}, body: new Uint8Array() }
    const body = Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer))
    if (body.length > request.maxBytes) throw new OutboundError('the answer is too long')
    return { status: 200, headers: {}, body }
  }
  const fetches = () => requests.filter(({ url }) => url === JWKS_URI).length
  const server: TestServer = { outbound, requests, answers, keys, reset, fetches }
  reset()
  return server
}

/** Returns the claims of a valid token. */
export function claimsOf(code: string, { now }: Clock): JsonObject {
  const at = Math.floor(now.getTime() / 1000)
  return {
    iss: SERVER,
    sub: 'person',
    client_id: 'wallet',
    aud: ISSUER_URL,
    iat: at,
    exp: at + 300,
    jti: 'token',
    'pre-authorized_code': code,
  }
}

/** Signs a token of the claims; members of the header that are undefined fall away. */
export function signToken(signer: TestKey, claims: object, header: object = {}): Promise<string> {
  const all = { typ: 'at+jwt', alg: signer.alg, kid: signer.kid, ...header }
  return writeJws(all, claims as JsonObject, (data) => Promise.resolve(signatureOf(signer, data)))
}

function signatureOf({ alg, key }: TestKey, data: Uint8Array): Uint8Array {
  if (alg === 'RS256') return sign('sha256', data, key)
  if (alg === 'PS256') return sign('sha256', data, { key, padding: 6, saltLength: 32 })
  if (alg === 'HS256')
    return createHmac('sha256', key.export({ type: 'spki', format: 'pem' }))
      .update(data)
      .digest()
  return signBytes(key, data)
}
