/**
 * The setting `registrationCertificateFile` of issuer and verifier: the operator's registration certificate, a JWT that
 * is passed on to wallets unchanged. ETSI TS 119 472-3, Issuer Information; ETSI TS 119 472-2, Request Object; ETSI TS
 * 119 475.
 */
import { memberOf } from '../codec/json.ts'
import { readJws } from '../codec/jws.ts'
import { MalformedError } from '../codec/malformed.ts'
import { type Files, unreadableReason } from './files.ts'

const SETTING = 'registrationCertificateFile'
/** The maximum length of a registration certificate, which each metadata document and each request object has. */
const MAX_LENGTH = 64 * 1024

export type ReadRegistrationCertificate =
  | { readonly registrationCertificate: string | undefined; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[] }

/** Makes the entry of a registration certificate in `issuer_info` and `verifier_info`. ETSI TS 119 472-2. */
export function makeRegistrationEntry(certificate: string) {
  return { format: 'registration_cert', data: certificate }
}

/** Reads the certificate, without verifying its signature, and warns if it has expired. */
export function readRegistrationCertificate(
  path: string | undefined,
  files: Files,
  now: Date,
): ReadRegistrationCertificate {
  if (path === undefined) return { registrationCertificate: undefined, warnings: [] }
  let text: string
  try {
    text = files.read(path).trim()
  } catch (error) {
    return { mistakes: [`${SETTING}: ${unreadableReason(error)}: ${path}`] }
  }
  try {
    if (text.length > MAX_LENGTH) return { mistakes: [`${SETTING}: ${path} is longer than 64 KiB`] }
    const expiresAt = memberOf(readJws(text).payload, 'exp')
    const isOver = typeof expiresAt === 'number' && expiresAt * 1000 <= now.getTime()
    const warning = `${SETTING}: it expired on ${isOver ? new Date(expiresAt * 1000).toISOString() : ''}; get a new one`
    return { registrationCertificate: text, warnings: isOver ? [warning] : [] }
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    return { mistakes: [`${SETTING}: ${path} holds no JWT: ${error.message}`] }
  }
}
