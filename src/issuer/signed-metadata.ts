/** Signed issuer metadata. OpenID4VCI 1.0, Signed Metadata. */
import { hash } from 'node:crypto'
import { createPromiseCache } from '../async/cache.ts'
import type { JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { epochSeconds } from '../codec/time.ts'
import { endedMetadataCertificateProblem } from '../config/certificate-end.ts'
import type { PublicDocument } from '../http/document.ts'
import type { Signer } from '../keys/signer.ts'
import type { IssuerConfig } from './config.ts'

const LIFETIME_SECONDS = 3600
/** How long a signed document is cached. */
const CACHED_MS = 300_000
/** The maximum number of cached documents. A document has some kilobytes, or with images some megabytes. */
const MAX_CACHED_DOCUMENTS = 8

/**
 * Signs a metadata document as a JWS in which each parameter is a claim. The key is `keys.metadata`, or
 * `keys.accessTokens` or `signing` if that is absent; `x5c` has its certificates. Returns undefined if the certificate
 * of that key has ended.
 */
export type SignMetadata = (metadata: PublicDocument) => Promise<PublicDocument | undefined>

/** Creates a {@link SignMetadata} that caches its results. */
export function createMetadataSigner(
  getConfig: () => IssuerConfig,
  getSigner: () => Signer,
  now: () => Date,
): SignMetadata {
  const signedDocuments = createPromiseCache<PublicDocument>(MAX_CACHED_DOCUMENTS, { ttlMs: CACHED_MS, now })
  return async (metadata) => {
    const { keys, issuer } = getConfig()
    if (endedMetadataCertificateProblem(keys, now()) !== undefined) return undefined
    const currentSigner = getSigner()
    const { id } = issuer
    const key = hash('sha256', [metadata.etag, id, ...currentSigner.x5c].join(), 'base64url')
    const issuedAt = epochSeconds(now())
    return signedDocuments.get(key, () => signMetadata(metadata, { issuer: id, signer: currentSigner, issuedAt }))
  }
}

interface Signing {
  readonly issuer: string
  readonly signer: Signer
  readonly issuedAt: number
}

async function signMetadata({ parts }: PublicDocument, { issuer, signer, issuedAt }: Signing): Promise<PublicDocument> {
  const members = JSON.parse(Buffer.concat(parts).toString()) as JsonObject
  const payload = {
    iss: issuer,
    sub: members.credential_issuer ?? '',
    iat: issuedAt,
    exp: issuedAt + LIFETIME_SECONDS,
    ...members,
  }
  const header = { typ: 'openidvci-issuer-metadata+jwt', alg: signer.alg, x5c: [...signer.x5c] }
  const jws = Buffer.from(await writeJws(header, payload, (data) => signer.sign(data)), 'latin1')
  return { etag: `"${hash('sha256', jws, 'base64url')}"`, parts: [jws] }
}
