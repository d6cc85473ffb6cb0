/** A signer whose key is in a file, and what else is derived from that key. */
import { createPrivateKey, createPublicKey, createSecretKey, hkdfSync, type KeyObject, sign } from 'node:crypto'
import { malformed } from '../codec/malformed.ts'
import type { Certificate } from './certificate.ts'
import { readPublicJwk, thumbprint } from './jwk.ts'
import type { Signer } from './signer.ts'

/** The private key in a PEM text. Throws a MalformedError that says what it is instead of an EC P-256 key. */
export function readPrivateKey(pem: string): KeyObject {
  if (pem.includes('ENCRYPTED')) malformed('it is encrypted with a passphrase, which is not supported')
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    return malformed('it holds no private key in PEM')
  }
  const { namedCurve } = key.asymmetricKeyDetails ?? {}
  if (namedCurve !== 'prime256v1') {
    malformed(
      `it holds a key of type ${namedCurve ?? key.asymmetricKeyType ?? 'unknown'}, and only EC P-256 is supported`,
    )
  }
  return key
}

/** ES256 with `key`; `chain` are its certificates, its own first, or none for a wallet. */
export function keySigner(key: KeyObject, chain: readonly Certificate[]): Signer {
  const jwk = readPublicJwk(createPublicKey(key).export({ format: 'jwk' }))
  return {
    alg: 'ES256',
    jwk,
    kid: thumbprint(jwk),
    x5c: sentChain(chain),
    sign: (data) => Promise.resolve(sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })),
  }
}

/**
 * Standard base64 of each DER certificate. A self-signed certificate after the leaf is the trust anchor, which the receiver
 * has or does not have: it is never sent (HAIP 1.0, x5c). A self-signed leaf is all there is, so it stays.
 */
function sentChain(chain: readonly Certificate[]): readonly string[] {
  return chain
    .filter((certificate, index) => index === 0 || !certificate.selfIssued)
    .map((certificate) => certificate.der.toString('base64'))
}

/** A secret that everybody with the key can derive again and nobody else: HKDF-SHA-256, named by its `purpose`. RFC 5869. */
export function deriveSecret(key: KeyObject, purpose: string): KeyObject {
  const material = key.export({ type: 'pkcs8', format: 'der' })
  return createSecretKey(new Uint8Array(hkdfSync('sha256', material, '', `vouchsafe ${purpose}`, 32)))
}
