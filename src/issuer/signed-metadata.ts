/** Issuer metadata that says by whom it is, for wallets that ask for it. OpenID4VCI 1.0, Signed Metadata. */
import { hash } from 'node:crypto'
import { createPromiseCache } from '../async/cache.ts'
import type { JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import type { PublicDocument } from '../http/document.ts'
import type { Signer } from '../keys/signer.ts'
import type { IssuerConfig } from './config.ts'

const LIFETIME_SECONDS = 3600
/** The time for which a signature is served again to all who ask for the same document. */
const KEPT_MS = 300_000
/** The most signed documents that are kept; a document is some kilobytes, and with images some megabytes. */
const KEPT_DOCUMENTS = 8

/**
 * Makes a JWS of the document, every parameter a claim, by the key `keys.metadata` (when absent `keys.accessTokens`, or
 * `signing`) and with its certificates.
 */
export type SignMetadata = (metadata: PublicDocument) => Promise<PublicDocument>

/** Makes a {@link SignMetadata} that keeps what it signed while the same may be asked for again. */
export function createMetadataSigner(config: () => IssuerConfig, signer: () => Signer, now: () => Date): SignMetadata {
  const signedDocuments = createPromiseCache<PublicDocument>(KEPT_DOCUMENTS, { ttlMs: KEPT_MS, now })
  return (metadata) => {
    const currentSigner = signer()
    const { id } = config().issuer
    const key = hash('sha256', [metadata.etag, id, ...currentSigner.x5c].join(), 'base64url')
    const issuedAt = Math.floor(now().getTime() / 1000)
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
