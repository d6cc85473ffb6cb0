/** A provider of wallets whose attestations an issuer takes, and an instance that it attests. */
import { expect } from 'vitest'
import { toPem } from '../../src/keys/make-certificate.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { type Attester, makeAttester } from './attestation.ts'
import type { Session } from './issuance.ts'
import { TOKEN_ENDPOINT } from './issuance.ts'
import { type JwtChanges, writeChangedJwt } from './jwt.ts'
import { ISSUER_URL, type ServiceOptions, type Services } from './services.ts'
import { holderSigner } from './wire.ts'

export const WALLET = 'https://wallet.example'

export interface WalletInstance {
  readonly provider: Attester
  readonly key: Signer
}

/** The two headers of an attested request. */
export type AttestedHeaders = Readonly<Record<'oauth-client-attestation' | 'oauth-client-attestation-pop', string>>

export async function makeInstance(provider: Attester): Promise<WalletInstance> {
  return { provider, key: await holderSigner() }
}

export const makeProvider = (): Promise<Attester> => makeAttester('Wallet Provider')

/** Returns settings of an issuer that trusts the provider. */
export function trustingProvider(
  { authority }: Attester,
  walletAttestation: 'optional' | 'required' = 'required',
): Pick<ServiceOptions, 'issuer' | 'files'> {
  return {
    issuer: { walletProviderTrustAnchors: 'providers', walletAttestation },
    files: { 'providers/ca.pem': toPem(authority.der) },
  }
}

export function walletAttestation(
  { provider, key }: WalletInstance,
  now: Date,
  changes: JwtChanges = {},
): Promise<string> {
  const seconds = Math.floor(now.getTime() / 1000)
  const header = { typ: 'oauth-client-attestation+jwt', x5c: [...provider.x5c] }
  const payload = {
    sub: WALLET,
    wallet_name: 'Example Wallet',
    iat: seconds,
    exp: seconds + 3600,
    cnf: { jwk: { ...key.jwk } },
  }
  return writeChangedJwt(provider.signer, { header, payload }, changes)
}

let count = 0

export function popOf(
  { key }: WalletInstance,
  { now, challenge, audience }: { readonly now: Date; readonly challenge: string; readonly audience: string },
  changes: JwtChanges = {},
): Promise<string> {
  count += 1
  const payload = { aud: audience, jti: `pop-${count}`, iat: Math.floor(now.getTime() / 1000), challenge }
  return writeChangedJwt(key, { header: { typ: 'oauth-client-attestation-pop+jwt' }, payload }, changes)
}

export async function fetchChallenge(services: Services): Promise<string> {
  const response = await services.fetch(`${ISSUER_URL}/auth/challenge`, { method: 'POST' })
  const body = (await response.json()) as { readonly attestation_challenge: string }
  expect([response.status, body]).toEqual([200, { attestation_challenge: expect.any(String) as string }])
  expect(response.headers.get('cache-control')).toBe('no-store')
  return body.attestation_challenge
}

/** Makes the headers by which the instance authenticates itself for the session. */
export async function attestedHeaders(
  instance: WalletInstance,
  { services, sessionId }: Pick<Session, 'services' | 'sessionId'>,
  changes: { readonly attestation?: JwtChanges; readonly pop?: JwtChanges } = {},
): Promise<AttestedHeaders> {
  const { now } = services.clock
  const proved = { now, challenge: await fetchChallenge(services), audience: `${ISSUER_URL}/${sessionId}` }
  return {
    'oauth-client-attestation': await walletAttestation(instance, now, changes.attestation),
    'oauth-client-attestation-pop': await popOf(instance, proved, changes.pop),
  }
}

/** Sends a token request with these headers; `form` replaces that of the session. */
export function postAttested(
  { services, sessionId, form: usual }: Session,
  headers: Readonly<Record<string, string>>,
  form: Readonly<Record<string, string>> = usual,
): Promise<Response> {
  return services.fetch(`${TOKEN_ENDPOINT}/${sessionId}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(form).toString(),
  })
}
