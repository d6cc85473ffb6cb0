/** Key attestations by a maker of wallets that the issuer trusts: a leaf below a CA of its own. */
import type { KeyObject } from 'node:crypto'
import { writeName } from '../../src/keys/certificate-name.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import { toPem } from '../../src/keys/make-certificate.ts'
import type { Algorithm } from '../../src/keys/signature.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { type Authority, type CertificateOptions, certify, makeAuthority } from './forge.ts'
import { type JwtChanges, writeChangedJwt } from './jwt.ts'
import { makeKey, type ServiceOptions } from './services.ts'

export interface Attester {
  readonly authority: Authority
  readonly key: KeyObject
  readonly signer: Signer
  /** Base64 of the certificate of the key, and no more: anchors are not sent. */
  readonly x5c: readonly string[]
}

export async function makeAttester(commonName = 'Wallet Maker', algorithm: Algorithm = 'ES256'): Promise<Attester> {
  const authority = await makeAuthority(`${commonName} CA`, { algorithm })
  const key = await makeKey(algorithm)
  const attester = { authority, key, signer: createSigner(key, []) }
  return { ...attester, x5c: [attesterCertificate(attester, { name: writeName([['CN', commonName]]) })] }
}

/** Makes another certificate for the key of the attester. */
export function attesterCertificate({ authority, key }: Omit<Attester, 'x5c'>, options: CertificateOptions): string {
  const names = { uris: ['https://wallet.example'], name: writeName([['CN', 'Wallet Maker']]) }
  return certify(authority, key, { ...names, ...options }).toString('base64')
}

/** Returns settings of an issuer that trusts the attester. */
export function trusting({ authority }: Attester): Pick<ServiceOptions, 'issuer' | 'files'> {
  return {
    issuer: { keyAttestationTrustAnchors: 'attesters' },
    files: { 'attesters/ca.pem': toPem(authority.der) },
  }
}

export function attestationOf(
  attester: Attester,
  keys: readonly object[],
  now: Date,
  changes: JwtChanges = {},
): Promise<string> {
  const seconds = Math.floor(now.getTime() / 1000)
  const payload = {
    iat: seconds,
    exp: seconds + 3600,
    attested_keys: keys,
    key_storage: ['iso_18045_high'],
    user_authentication: ['iso_18045_moderate'],
  }
  return writeChangedJwt(
    attester.signer,
    { header: { typ: 'key-attestation+jwt', x5c: [...attester.x5c] }, payload },
    changes,
  )
}
