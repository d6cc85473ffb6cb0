/** Chains of certificates that grow: many names, many issuers of one name, slow keys, long and deep DER. */
import { createPublicKey, generateKeyPair, type KeyObject, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { writeDer, writeInteger, writeSequence } from '../../src/codec/der.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import {
  basicConstraints,
  extension,
  keyUsage,
  makeCertificate,
  subjectAltName,
} from '../../src/keys/make-certificate.ts'
import { certificateName, certify, type World } from '../support/forge.ts'
import { type Growth, grownHeader } from './growth.ts'

const CURVES = ['prime256v1', 'secp521r1', 'brainpoolP512r1', 'brainpoolP384r1', 'secp384r1'] as const
const OTHER_OID = '1.3.6.1.4.1.99999.1'
/** The largest certificate that is read is 16 KiB. */
const MAX_BYTES = 14_000

/**
 * The public keys on the curves, made once, since nobody signs with those of most certificates. The synchronous
 * generator can hang on Node 20.
 */
const publicKeys = await Promise.all(CURVES.map(async (namedCurve) => (await makeKeyPair(namedCurve)).publicKey))
/** The key of a stranger, on the slowest curve. */
const { privateKey: slowKey } = await makeKeyPair('secp521r1')

function makeKeyPair(namedCurve: (typeof CURVES)[number]) {
  return promisify(generateKeyPair)('ec', { namedCurve })
}

/** Returns the certificates of the issuer's key, that of the key first, in DER. */
export function grownCertificates({ ca, issuerKey }: World, growth: Growth): Buffer[] {
  const { shape, size } = growth
  const leaf = (more = {}) => certify(ca, issuerKey, more)
  const text = (most: number) => grownHeader(growth, most).replace(/[^!-~]/g, 'a')
  const few = Math.min(size, 60)
  if (shape === 'same') return Array<Buffer>(Math.min(size, 600)).fill(leaf())
  if (shape === 'known') return Array.from({ length: few }, () => leaf())
  if (shape === 'list') return [leaf({ dnsNames: Array.from({ length: Math.min(size, 2000) }, (_, at) => `*.a${at}`) })]
  if (shape === 'members') return [leaf({ uris: Array.from({ length: Math.min(size, 500) }, () => text(100) || 'a') })]
  if (shape === 'text') return [leaf({ uris: [text(MAX_BYTES) || 'a'] })]
  if (shape === 'objects')
    return [leaf(), ...Array.from({ length: few }, (_, at) => issuerNamed(ca, curveAt(growth, at)))]
  if (shape === 'grid') return ofStrangers(issuerKey, few)
  if (shape === 'digits')
    return [withExtension(ca.name, issuerKey, writeInteger(Buffer.alloc(Math.min(size, MAX_BYTES), 1)))]
  if (shape === 'deep' || shape === 'tree') return [withExtension(ca.name, issuerKey, deepDer(Math.min(size, 3000)))]
  if (shape === 'empty') return [withExtension(ca.name, issuerKey, writeSequence(...manyDer(Math.min(size, 6000))))]
  if (shape === 'escapes') return [leaf({ name: writeName([['CN', '\u200b'.repeat(Math.min(size, 4000))]]) })]
  if (shape === 'numbers') return [leaf({ name: manyNames(Math.min(size, 900)) })]
  return [leaf(), randomBytes(Math.min(size, 20_000))]
}

/** Returns the place of a curve: the same for all, or another for each. */
function curveAt({ size }: Growth, at: number): number {
  return (size + (size % 2) * at) % CURVES.length
}

/** Makes a CA of the name of the authority, whose key did not sign for it. */
function issuerNamed({ name, key }: World['ca'], curve: number): Buffer {
  const publicKey = publicKeys[curve] as KeyObject
  const content = { subject: name, issuer: { name, privateKey: key }, publicKey }
  return makeCertificate({ ...content, ...common(), extensions: [basicConstraints(true), keyUsage(['keyCertSign'])] })
}

/**
 * Makes a certificate by a stranger on the slowest curve, and many of the stranger's name whose keys did not sign it.
 */
function ofStrangers(issuerKey: KeyObject, count: number): Buffer[] {
  const stranger = { name: writeName([['CN', 'Stranger']]), key: slowKey }
  const others = Array.from({ length: count }, () =>
    issuerNamed({ ...stranger, der: Buffer.alloc(0) }, CURVES.indexOf('secp521r1')),
  )
  return [certify(stranger, issuerKey), ...others]
}

function withExtension(name: Buffer, issuerKey: KeyObject, value: Buffer): Buffer {
  return makeCertificate({
    subject: certificateName,
    publicKey: createPublicKey(issuerKey),
    issuer: { name, privateKey: issuerKey },
    ...common(),
    extensions: [
      basicConstraints(false),
      keyUsage(['digitalSignature']),
      ...subjectAltName({ uris: ['https://a.example'] }),
      extension(OTHER_OID, false, value),
    ],
  })
}

function common() {
  const day = 86_400_000
  const [notBefore, notAfter] = [new Date(Date.now() - 30 * day), new Date(Date.now() + 365 * day)]
  return { serial: randomBytes(16).fill(1, 0, 1), notBefore, notAfter }
}

function deepDer(depth: number): Buffer {
  let value = writeSequence()
  for (let at = 0; at < depth && value.length < MAX_BYTES; at++) value = writeSequence(value)
  return value
}

function manyDer(count: number): Buffer[] {
  return Array.from({ length: count }, () => writeDer(5, Buffer.alloc(0)))
}

/** Makes a name with many attributes. */
function manyNames(count: number): Buffer {
  return writeName(Array.from({ length: count }, () => ['CN', '\u200b'] as const))
}
