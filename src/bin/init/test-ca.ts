/**
 * A CA for trying things out, where a self-signed certificate is refused: its key is gone after it has signed, and only
 * its certificate stays, for those who are to trust it.
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
  /** The DER of the certificate of the key. */
  readonly certificate: Buffer
  /** The DER of the certificate of the CA. */
  readonly ca: Buffer
}

// The asynchronous generator is used: on Node 20.20, exporting a key of the synchronous one can hang the process.
export function makeKeyPair(): Promise<KeyPair> {
  return promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
}

/** Certifies the key by a new CA. */
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
