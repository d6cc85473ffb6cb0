/** Issuer metadata that says by whom it is, for wallets that ask for it. OpenID4VCI 1.0, Signed Metadata. */
import type { JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import type { IssuerMetadata } from '../protocol/oid4vci.ts'
import type { IssuerContext } from './context.ts'

const LIFETIME_SECONDS = 3600

/** A JWS of the document, every parameter a claim, by the key and with the certificates of the credentials. */
export function signMetadata({ config, signer, now }: IssuerContext, metadata: IssuerMetadata): Promise<string> {
  const issuedAt = Math.floor(now().getTime() / 1000)
  const payload = {
    iss: config.issuer.id,
    sub: metadata.credential_issuer,
    iat: issuedAt,
    exp: issuedAt + LIFETIME_SECONDS,
    ...(metadata as unknown as JsonObject),
  }
  const header = { typ: 'openidvci-issuer-metadata+jwt', alg: signer.alg, x5c: [...signer.x5c] }
  return writeJws(header, payload, (data) => signer.sign(data))
}
