/**
 * The setting `revocationListFile` of an issuer: the revocation list (CRL) that its certificates name, which is passed
 * on unchanged. RFC 5280 section 5; ISO/IEC 18013-5 annex B.
 */
import { readDer, readSequence } from '../codec/der.ts'
import { malformed, readOrProblem } from '../codec/malformed.ts'
import { CRL_LABEL, findPemBlocks } from '../codec/pem.ts'
import { type Files, unreadableReason } from './files.ts'

const SETTING = 'revocationListFile'
/** The maximum size of a list, which is some hundred thousand certificates. */
const MAX_BYTES = 4 * 1024 * 1024

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
  const list = readOrProblem(() => readListPem(text))
  return 'problem' in list
    ? { mistakes: [`${SETTING}: ${path} holds no revocation list in PEM: ${list.problem}`] }
    : { revocationList: list }
}

/** Decodes the first list of a PEM text. Throws a MalformedError if there is none. */
function readListPem(text: string): Uint8Array {
  const block = findPemBlocks(text).find(({ label }) => label === CRL_LABEL)
  if (block === undefined) return malformed(`it has no BEGIN ${CRL_LABEL}; openssl crl -inform DER writes one`)
  const der = block.decode()
  readSequence(readDer(der, MAX_BYTES))
  return der
}
