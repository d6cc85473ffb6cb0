/**
 * A test CA, for tests in which a self-signed certificate is refused. Its key is not stored; its certificate is the
 * trust anchor.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { ISSUER_PATHS } from '../../issuer/issuer-addresses.ts'
import { type NameAttribute, writeName } from '../../keys/certificate-name.ts'
import { EXTENDED_KEY_USAGE } from '../../keys/certificate-purpose.ts'
import {
  crlDistributionPoint,
  extendedKeyUsage,
  issuerAltName,
  makeCertificate,
  type SubjectAltNames,
  usualExtensions,
} from '../../keys/make-certificate.ts'
import { makeEmptyRevocationList } from '../../keys/make-revocation-list.ts'
import { random } from '../effects.ts'

export interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export interface CertificateTimes {
  readonly notBefore: Date
  readonly notAfter: Date
}

export interface CertifiedKey {
  /** The certificate of the key, in DER. */
  readonly certificate: Buffer
  /** The certificate of the CA, in DER. */
  readonly ca: Buffer
  /** The revocation list that both certificates name, in DER: it is empty for as long as they are valid. */
  readonly revocationList?: Buffer
}

/** The CA of certificates for mobile documents, as these name it. ISO/IEC 18013-5 annex B. */
interface MdocAuthority {
  /** The country, by its two letters in ISO 3166-1. */
  readonly country: string
  readonly uri: string
}

interface CertificateTerms {
  readonly commonName: string
  readonly names?: SubjectAltNames
  readonly validity: CertificateTimes
  readonly mdocAuthority?: MdocAuthority | undefined
}

// Generates the key asynchronously, since on Node 20.20 exporting a synchronously generated key can hang.
export function makeKeyPair(): Promise<KeyPair> {
  return promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
}

/** Certifies the key with a new CA; with `mdocAuthority` it is a document signer of mobile documents. */
export async function certifyByTestCa(
  { publicKey }: Pick<KeyPair, 'publicKey'>,
  { commonName, names = {}, validity, mdocAuthority }: CertificateTerms,
): Promise<CertifiedKey> {
  const { publicKey: issuerPublicKey, privateKey } = await makeKeyPair()
  const country: readonly NameAttribute[] = mdocAuthority ? [['C', mdocAuthority.country]] : []
  const caName = writeName([...country, ['CN', `${commonName} Test CA`]])
  const byCa = { issuer: { name: caName, privateKey }, ...validity }
  const mdocExtensions = mdocAuthority
    ? [issuerAltName(mdocAuthority.uri), crlDistributionPoint(`${mdocAuthority.uri}${ISSUER_PATHS.revocationList}`)]
    : []
  const signerExtensions = mdocAuthority ? [extendedKeyUsage([EXTENDED_KEY_USAGE.mdlDocumentSigner], true)] : []
  const extensions = usualExtensions({ publicKey, issuerPublicKey, isCa: false, names })
  const caExtensions = usualExtensions({ publicKey: issuerPublicKey, issuerPublicKey, isCa: true, pathLength: 0 })
  return {
    certificate: makeCertificate({
      ...byCa,
      subject: writeName([...country, ['CN', commonName]]),
      publicKey,
      serial: random(16),
      extensions: [...extensions, ...mdocExtensions, ...signerExtensions],
    }),
    ca: makeCertificate({
      ...byCa,
      subject: caName,
      publicKey: issuerPublicKey,
      serial: random(16),
      extensions: [...caExtensions, ...mdocExtensions],
    }),
    ...(mdocAuthority && { revocationList: makeEmptyRevocationList({ ...byCa, issuerPublicKey }) }),
  }
}
