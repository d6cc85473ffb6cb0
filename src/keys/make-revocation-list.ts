/** Makes the empty revocation list of a CA that `vouchsafe init` makes. RFC 5280 section 5; ISO/IEC 18013-5 annex B. */
import type { KeyObject } from 'node:crypto'
import { contextTag, writeDer, writeInteger, writeSequence, writeTime } from '../codec/der.ts'
import { EXTENSION } from './certificate-extensions.ts'
import { authorityKeyIdentifier, type CertificateContent, extension, signByCa } from './make-certificate.ts'

/** A CA, and the times between which its empty list is valid. */
interface RevocationListContent extends Pick<CertificateContent, 'issuer' | 'notBefore' | 'notAfter'> {
  readonly issuerPublicKey: KeyObject
}

/** Version 2 of revocation lists, as these write it. */
const V2 = 1

/**
 * Makes a revocation list in DER that lists no certificate: the first and only one of its CA. ISO/IEC 18013-5 table
 * B.10.
 */
export function makeEmptyRevocationList(content: RevocationListContent): Buffer {
  const { issuer, issuerPublicKey, notBefore, notAfter } = content
  const extensions = [authorityKeyIdentifier(issuerPublicKey), extension(EXTENSION.crlNumber, false, writeInteger(1))]
  return signByCa(issuer.privateKey, (identifier) => [
    writeInteger(V2),
    identifier,
    issuer.name,
    writeTime(notBefore),
    writeTime(notAfter),
    writeDer(contextTag(0, 'constructed'), writeSequence(...extensions)),
  ])
}
