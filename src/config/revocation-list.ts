/**
 * The setting `revocationListFile` of an issuer: the revocation list (CRL) that its certificates name, which is passed
 * on unchanged. RFC 5280 section 5; ISO/IEC 18013-5 annex B.
 */
import { fromBase64 } from '../codec/base64url.ts'
import { readDer, readSequence } from '../codec/der.ts'
import { MalformedError, malformed } from '../codec/malformed.ts'
import { type Files, unreadableReason } from './files.ts'

const SETTING = 'revocationListFile'
/** The maximum size of a list, which is some hundred thousand certificates. */
const MAX_BYTES = 4 * 1024 * 1024
// Base64 has no dash, so this expression takes linear time.
const PEM = /-----BEGIN X509 CRL-----([^-]*)-----END X509 CRL-----/

export type ReadRevocationList =
  | { readonly revocationList: Uint8Array | undefined }
  | { readonly mistakes: readonly string[] }

/** Reads the list, in DER. The list is not verified: that is up to who trusts the CA. */
export function readRevocationList(path: string | undefined, files: Files): ReadRevocationList {
  if (path === undefined) return { revocationList: undefined }
  let text: string
  try {
    text = files.read(path)
  } catch (error) {
    return { mistakes: [`${SETTING}: ${unreadableReason(error)}: ${path}`] }
  }
  try {
    const [, body] = PEM.exec(text) ?? malformed('it has no BEGIN X509 CRL; openssl crl -inform DER writes one')
    const der = fromBase64((body ?? '').replace(/\s/g, ''))
    readSequence(readDer(der, MAX_BYTES))
    return { revocationList: der }
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    return { mistakes: [`${SETTING}: ${path} holds no revocation list in PEM: ${error.message}`] }
  }
}
