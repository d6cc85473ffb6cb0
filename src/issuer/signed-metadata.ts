/** Issuer metadata that says by whom it is, for wallets that ask for it. OpenID4VCI 1.0, Signed Metadata. */
import { hash } from 'node:crypto'
import type { JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import type { PublicDocument } from '../http/document.ts'
import type { Signer } from '../keys/signer.ts'
import { lru } from '../memory/lru.ts'
import type { IssuerConfig } from './config.ts'

const LIFETIME_SECONDS = 3600
/** A signature is served again for so long, to all who ask for the same document. */
const KEPT_MS = 300_000
/** A document is some kilobytes, and with images some megabytes. */
const KEPT_DOCUMENTS = 8

/** A JWS of the document, every parameter a claim, by the key and with the certificates of the credentials. */
export type SignedMetadata = (metadata: PublicDocument) => Promise<PublicDocument>

export function signedMetadata(config: () => IssuerConfig, signer: () => Signer, now: () => Date): SignedMetadata {
  const signed = lru<string, { readonly document: Promise<PublicDocument>; readonly until: number }>(KEPT_DOCUMENTS)
  return (metadata) => {
    const by = signer()
    const { id } = config().issuer
    const key = hash('sha256', [metadata.etag, id, ...by.x5c].join(), 'base64url')
    const at = now().getTime()
    const known = signed.get(key)
    if (known !== undefined && at < known.until) return known.document
    const document = sign(metadata, { issuer: id, signer: by, issuedAt: Math.floor(at / 1000) })
    signed.set(key, { document, until: at + KEPT_MS })
    // A failure is not served again.
    document.catch(() => signed.set(key, { document, until: 0 }))
    return document
  }
}

interface Signing {
  readonly issuer: string
  readonly signer: Signer
  readonly issuedAt: number
}

async function sign({ parts }: PublicDocument, { issuer, signer, issuedAt }: Signing): Promise<PublicDocument> {
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
