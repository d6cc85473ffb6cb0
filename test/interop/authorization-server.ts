/**
 * The npm package `oidc-provider` as the external authorization server, on a socket of its own: with its experimental
 * pre-authorized code grant, and with whatever its users may have configured. The lines after `configuration` are in
 * docs/how-to/external-authorization-server.md.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../../src/codec/json.ts'
import { makeTestKey } from '../support/authorization-server.ts'
import { ISSUER_URL } from '../support/services.ts'
import { GRANT } from '../support/wire.ts'

interface Provider {
  callback(): RequestListener
  readonly Client: { find(id: string): Promise<object> }
  readonly Grant: new (
    of: object,
  ) => { addResourceScope(resource: string, scope: string): void; save(): Promise<string> }
  readonly PreAuthorizedCode: new (of: object) => { save(): Promise<string> }
}
type ProviderClass = new (issuer: string, configuration: object) => Provider

interface Context {
  readonly oidc: { readonly params: Readonly<Record<string, string | undefined>> }
}

export interface ExternalServer {
  readonly issuer: string
  /** Makes a pre-authorized code for the wallet. */
  makeCode(txCode?: string): Promise<string>
  /** Makes new keys; those before are gone. */
  rotate(): Promise<void>
  /** Asks the token endpoint, and returns its status and body. */
  requestToken(form: Readonly<Record<string, string>>): Promise<{ readonly status: number; readonly body: JsonObject }>
  close(): Promise<void>
}

export interface Options {
  readonly format: 'jwt' | 'opaque'
  readonly alg: 'ES256' | 'RS256'
  /** The resource that its tokens are for. */
  readonly audience?: string
  /** The lifetime of its tokens in seconds. */
  readonly lifetime?: number
}

export const CLIENT = { clientId: 'issuer', clientSecret: 'secret of the issuer, 32 characters' }
export const WALLET = 'wallet'
const SCOPE = 'credential'
// The package is named at run time, because it is installed for these tests only.
const name: string = 'oidc-provider'
const { default: ProviderOf } = (await import(name)) as { readonly default: ProviderClass }

export async function startExternalServer(options: Options): Promise<ExternalServer> {
  let listener: RequestListener = () => undefined
  const http = createServer((request, response) => listener(request, response))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  let provider: Provider
  const rotate = async (): Promise<void> => {
    provider = new ProviderOf(issuer, configuration(options, [await privateJwk(options.alg)]))
    listener = provider.callback()
  }
  await rotate()
  return {
    issuer,
    rotate,
    makeCode: (txCode) => makeCode(provider, txCode),
    requestToken: async (form) => {
      const response = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(form) })
      return { status: response.status, body: (await response.json()) as JsonObject }
    },
    close: () => new Promise((resolve) => http.close(() => resolve())),
  }
}

function configuration(
  { format, alg, audience = ISSUER_URL, lifetime = 300 }: Options,
  keys: readonly object[],
): object {
  const none = { redirect_uris: [], response_types: [] }
  return {
    clients: [
      { ...none, client_id: WALLET, token_endpoint_auth_method: 'none', grant_types: [GRANT] },
      { ...none, client_id: 'machine', client_secret: 'm'.repeat(32), grant_types: ['client_credentials'] },
      { ...none, client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret, grant_types: [] },
    ],
    clientDefaults: { id_token_signed_response_alg: alg },
    jwks: { keys },
    scopes: [SCOPE],
    clientBasedCORS: () => false,
    findAccount: (_: Context, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    extraTokenClaims: ({ oidc }: Context) => ({ 'pre-authorized_code': oidc.params['pre-authorized_code'] }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => ISSUER_URL,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: SCOPE,
          audience,
          accessTokenFormat: format,
          accessTokenTTL: lifetime,
          jwt: { sign: { alg } },
        }),
      },
      openid4vci: {
        enabled: true,
        ack: 'experimental-01',
        nonceSecret: randomBytes(32),
        preAuthorizedCodeGrant: true,
        credentialConfigurationsSupported: { unused: { format: 'dc+sd-jwt', vct: 'unused', scope: SCOPE } },
      },
    },
  }
}

async function makeCode(provider: Provider, txCode: string | undefined): Promise<string> {
  const client = await provider.Client.find(WALLET)
  const of = { clientId: WALLET, accountId: 'ada' }
  const grant = new provider.Grant(of)
  grant.addResourceScope(ISSUER_URL, SCOPE)
  const rest = { scope: SCOPE, resource: ISSUER_URL, ...(txCode === undefined ? {} : { txCode }) }
  return new provider.PreAuthorizedCode({ client, ...of, grantId: await grant.save(), ...rest }).save()
}

async function privateJwk(alg: Options['alg']): Promise<object> {
  const { key, kid } = await makeTestKey(alg, randomBytes(8).toString('hex'))
  return { ...key.export({ format: 'jwk' }), kid, use: 'sig', alg }
}
