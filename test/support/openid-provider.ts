/**
 * A small OpenID Connect provider of the tests without a socket: it signs in every person who comes, holds codes to
 * PKCE and to the client, and can be told to answer wrongly. The real one is in test/interop.
 */
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '../../src/codec/json.ts'
import { type HttpClientRequest, type Outbound, OutboundError } from '../../src/http/outbound.ts'
import { makeTestKey, publicJwk, signToken, type TestKey } from './authorization-server.ts'
import { sha256 } from './wire.ts'

export const PROVIDER = 'https://login.example'
export const PROVIDER_CLIENT = { clientId: 'vouchsafe', clientSecret: 'the secret of this service' }

/** Changes that a test makes to right answers. */
export interface Wrongs {
  /** Members of the ID token; undefined takes one away. */
  idToken?: Record<string, unknown>
  header?: Record<string, unknown>
  /** The key that signs instead of the right one. */
  key?: TestKey
  metadata?: Record<string, unknown>
  userinfo?: Record<string, unknown>
  /** The whole answer of an endpoint, by its path: a status, a text, or a function that throws. */
  answers?: Record<string, number | string | (() => Promise<never>)>
}

interface Grant {
  readonly nonce: string
  readonly challenge: string
  readonly redirectUri: string
}

export interface TestProvider {
  readonly outbound: Outbound
  readonly requests: HttpClientRequest[]
  /** The claims of the account that signs in. */
  account: JsonObject
  wrongs: Wrongs
  /** Signs the person in, and gives the address that the browser is sent back to. */
  signIn(address: URL, more?: Readonly<Record<string, string>>): URL
}

const json = (status: number, value: object) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
})

export async function testProvider(): Promise<TestProvider> {
  const key = await makeTestKey('ES256', 'provider-1')
  const codes = new Map<string, Grant>()
  const requests: HttpClientRequest[] = []
  const metadata = {
    issuer: PROVIDER,
    authorization_endpoint: `${PROVIDER}/authorize`,
    token_endpoint: `${PROVIDER}/token`,
    userinfo_endpoint: `${PROVIDER}/userinfo`,
    jwks_uri: `${PROVIDER}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'RS256'],
    authorization_response_iss_parameter_supported: true,
  }
  const token = async ({ headers = {}, body = '' }: HttpClientRequest) => {
    const credentials = [PROVIDER_CLIENT.clientId, PROVIDER_CLIENT.clientSecret].map((text) =>
      new URLSearchParams({ text }).toString().slice(5),
    )
    if (headers.authorization !== `Basic ${Buffer.from(credentials.join(':')).toString('base64')}`) {
      return json(401, { error: 'invalid_client' })
    }
    const form = Object.fromEntries(new URLSearchParams(body))
    const grant = codes.get(form.code ?? '')
    codes.delete(form.code ?? '')
    const holds = grant?.challenge === sha256(form.code_verifier ?? '') && grant.redirectUri === form.redirect_uri
    if (!holds) return json(400, { error: 'invalid_grant', error_description: 'not that code' })
    return json(200, { access_token: 'token-of-ada', token_type: 'Bearer', id_token: await idToken(grant.nonce) })
  }
  const idToken = (nonce: string) => {
    const at = Math.floor(Date.now() / 1000)
    const own = { iss: PROVIDER, aud: PROVIDER_CLIENT.clientId, iat: at, exp: at + 300, nonce }
    const { idToken: changed = {}, header = {}, key: another = key } = provider.wrongs
    const claims = JSON.parse(JSON.stringify({ sub: 'ada', ...provider.account, ...own, ...changed })) as JsonObject
    return signToken(another, claims, { typ: 'JWT', ...header })
  }
  const endpoints: Record<string, (request: HttpClientRequest) => unknown> = {
    '/.well-known/openid-configuration': () => json(200, { ...metadata, ...provider.wrongs.metadata }),
    '/jwks': () => json(200, { keys: [publicJwk(key)] }),
    '/token': token,
    '/userinfo': () => json(200, { sub: provider.account.sub ?? 'ada', ...provider.wrongs.userinfo }),
  }
  const provider: TestProvider = {
    requests,
    account: {},
    wrongs: {},
    outbound: async (request) => {
      requests.push(request)
      const { origin, pathname } = new URL(request.url)
      const wrong = provider.wrongs.answers?.[pathname]
      const endpoint = endpoints[pathname]
      if (origin !== PROVIDER || endpoint === undefined) throw new OutboundError('connection refused')
      if (typeof wrong === 'function') return wrong()
      if (typeof wrong === 'number') return { status: wrong, headers: {}, body: new Uint8Array() }
      if (wrong !== undefined) {
        return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(wrong) }
      }
      return (await endpoint(request)) as Awaited<ReturnType<Outbound>>
    },
    signIn: (address, more = {}) => {
      const { searchParams: query } = address
      const [code, redirectUri] = [randomBytes(16).toString('hex'), query.get('redirect_uri') ?? '']
      const [nonce, challenge] = [query.get('nonce') ?? '', query.get('code_challenge') ?? '']
      codes.set(code, { nonce, challenge, redirectUri })
      const answer = new URL(redirectUri)
      const parameters = { code, state: query.get('state') ?? '', iss: PROVIDER, ...more }
      for (const [name, value] of Object.entries(parameters)) answer.searchParams.set(name, value)
      return answer
    },
  }
  return provider
}
