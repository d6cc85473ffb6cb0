/**
 * A test CA, for tests in which a self-signed certificate is refused. Its key is not stored; its certificate is the
 * trust anchor.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { writeName } from '../../keys/certificate-name.ts'
import {
  makeCertificate,
  makeSelfSignedCertificate,
  type SubjectAltNames,
  usualExtensions,
} from '../../keys/make-certificate.ts'
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
}

// Generates the key asynchronously, since on Node 20.20 exporting a synchronously generated key can hang.
export function makeKeyPair(): Promise<KeyPair> {
  return promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
}

/** Certifies the key with a new CA. */
export async function certifyByTestCa(
  { publicKey }: Pick<KeyPair, 'publicKey'>,
  { commonName, names, validity }: { commonName: string; names?: SubjectAltNames; validity: CertificateTimes },
): Promise<CertifiedKey> {
  const ca = await makeKeyPair()
  const caName = `${commonName} Test CA`
  const certificate = makeCertificate({
    subject: writeName([['CN', commonName]]),
    publicKey,
    issuer: { name: writeName([['CN', caName]]), privateKey: ca.privateKey },
    serial: random(16),
    ...validity,
    extensions: usualExtensions({ publicKey, issuerPublicKey: ca.publicKey, isCa: false, ...(names && { names }) }),
  })
  const caCertificate = makeSelfSignedCertificate({
    ...ca,
    ...validity,
    commonName: caName,
    serial: random(16),
    isCa: true,
  })
  return { certificate, ca: caCertificate }
}
