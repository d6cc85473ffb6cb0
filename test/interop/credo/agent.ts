/**
 * A Credo agent as a wallet: the parts that Credo leaves to its user, filled in, and the part of it that these tests
 * call.
 */
import { EventEmitter } from 'node:events'
import type { PublicJwk as PublicKeyJwk } from '../../../src/keys/jwk.ts'
import { memoryKms } from './kms.ts'
import { memoryStore } from './store.ts'

type Store = (options: { readonly record: object }) => Promise<object>

export interface PublicJwk {
  readonly keyId: string
}

export interface CredoAgent {
  initialize(): Promise<void>
  shutdown(): Promise<void>
  readonly kms: {
    createKey(options: object): Promise<{ readonly keyId: string; readonly publicJwk: PublicKeyJwk }>
  }
  readonly dids: {
    create(options: object): Promise<{ readonly didState: { readonly did: string } }>
  }
  readonly sdJwtVc: { readonly store: Store }
  readonly mdoc: { readonly store: Store }
  readonly w3cCredentials: { readonly store: Store }
  readonly w3cV2Credentials: { readonly store: Store }
  readonly openid4vc: { readonly holder: Holder }
}

interface Holder {
  resolveCredentialOffer(link: string): Promise<object>
  resolveOpenId4VciAuthorizationRequest(
    offer: object,
    options: object,
  ): Promise<{ readonly authorizationRequestUrl: string; readonly codeVerifier: string; readonly dpop?: object }>
  requestToken(options: object): Promise<{
    readonly accessToken: string
    readonly cNonce?: string
    readonly dpop?: object
    readonly accessTokenResponse: object
  }>
  requestCredentials(
    options: object,
  ): Promise<{ readonly credentials: readonly { readonly record: StoredCredential }[] }>
  resolveOpenId4VpAuthorizationRequest(
    request: string | object,
    options: { readonly origin?: string },
  ): Promise<{
    readonly authorizationRequestPayload: object
    readonly dcql?: { readonly queryResult: { readonly can_be_satisfied: boolean } }
  }>
  selectCredentialsForDcqlRequest(result: object): object
  acceptOpenId4VpAuthorizationRequest(options: object): Promise<{
    readonly ok: boolean
    readonly serverResponse?: { readonly status: number; readonly body: unknown }
    readonly authorizationResponse: object
  }>
}

export interface StoredCredential {
  readonly type: string
  readonly credentialInstances: readonly object[]
}

interface Core {
  readonly Agent: new (options: object) => CredoAgent
  readonly InjectionSymbols: { readonly StorageService: symbol }
  readonly X509Module: new (options: object) => object
  readonly DidsModule: new (options: object) => object
  readonly JwkDidRegistrar: new () => object
  readonly JwkDidResolver: new () => object
  readonly RecordNotFoundError: new (message: string, options: object) => Error
  readonly Kms: {
    readonly KeyManagementModule: new (options: object) => object
    readonly PublicJwk: { fromPublicJwk(jwk: object): PublicJwk }
  }
}

interface Openid4vc {
  readonly OpenId4VcModule: new () => object
}

// The packages are named at run time, because they are installed for these tests only, and their types take seconds to
// check.
const [coreName, openid4vcName]: readonly [string, string] = ['@credo-ts/core', '@credo-ts/openid4vc']
export const core = (await import(coreName)) as Core
const openid4vc = (await import(openid4vcName)) as Openid4vc

interface Registry {
  registerInstance(token: symbol, instance: object): void
}

/** Starts an agent with nothing in its wallet that trusts the certificates and reaches the network by `fetch`. */
export async function startAgent(fetch: typeof globalThis.fetch, trusted: readonly string[]): Promise<CredoAgent> {
  const store = memoryStore((id, recordType) => new core.RecordNotFoundError(`no record ${id}`, { recordType }))
  const storage = {
    register: (registry: Registry) => registry.registerInstance(core.InjectionSymbols.StorageService, store),
  }
  const agent = new core.Agent({
    config: { allowInsecureHttpUrls: true, autoUpdateStorageOnStartup: true },
    dependencies: { fetch, EventEmitterClass: EventEmitter, FileSystem: Object, WebSocketClass: Object },
    modules: {
      storage,
      kms: new core.Kms.KeyManagementModule({ backends: [memoryKms()] }),
      x509: new core.X509Module({ getTrustedCertificatesForVerification: () => trusted, trustedCertificates: trusted }),
      dids: new core.DidsModule({
        registrars: [new core.JwkDidRegistrar()],
        resolvers: [new core.JwkDidResolver()],
      }),
      openid4vc: new openid4vc.OpenId4VcModule(),
    },
  })
  await agent.initialize()
  return agent
}
