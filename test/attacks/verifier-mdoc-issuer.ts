/**
 * Attacks on the issuer of a mobile document: the signature over its security object, and the certificates it comes
 * with.
 */
import { createPublicKey, generateKeyPair, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { type Cbor, type CborKey, encodeCbor } from '../../src/codec/cbor.ts'
import { certificateName, certify, makeAuthority, signWith } from '../support/forge.ts'
import type { MdocForgery } from '../support/mdoc.ts'
import { makeKey } from '../support/services.ts'
import { type Attack, after } from './attack.ts'
import { past, validityInfo } from './verifier-mdoc-document.ts'

const ALG = 1
const X5CHAIN = 33

type MdocAttack = Attack<MdocForgery>

const badSignature = { fails: 'issuer.signature', notRun: after.signature }
const badCertificate = { fails: 'issuer.certificate', notRun: after.certificate }
const noCertificate = { fails: 'issuer.certificate', notRun: after.noCertificate }
const untrusted = { fails: 'issuer.trusted', notRun: after.trust }

/** Replaces a member of the protected header of the issuer; undefined takes the member away. */
function header(alg: Cbor | undefined): Pick<MdocAttack, 'change'> {
  return {
    change({ issuerAuth: { protectedHeader } }) {
      if (alg === undefined) protectedHeader.delete(ALG)
      else protectedHeader.set(ALG, alg)
    },
  }
}

function send({ issuerAuth }: MdocForgery, ...certificates: readonly Uint8Array[]): void {
  issuerAuth.unprotectedHeader.set(X5CHAIN, certificates)
}

export const mdocIssuerAttacks: readonly MdocAttack[] = [
  {
    attack: 'The signature of the security object has one bit changed.',
    ...badSignature,
    change({ issuerAuth }) {
      const { sign: signed } = issuerAuth
      issuerAuth.sign = async (data) => (await signed(data)).map((byte, at) => (at === 40 ? byte ^ 1 : byte))
    },
  },
  {
    attack: 'The security object is changed under the signature of the issuer.',
    ...badSignature,
    change(forgery) {
      const { sign: signed } = forgery.issuerAuth
      forgery.issuerAuth.sign = () =>
        signed(encodeCbor(['Signature1', new Uint8Array(0), new Uint8Array(0), new Uint8Array(0)]))
      forgery.mso.set('extra', 1)
    },
  },
  {
    attack: 'The holder signs the security object, and sends the certificate of the issuer with it.',
    ...badSignature,
    change({ issuerAuth }, { holder }) {
      issuerAuth.sign = (data) => holder.sign(data)
    },
  },
  {
    attack: 'The issuer signed the security object, but the certificate is for another key of the same name.',
    ...badSignature,
    async change(forgery, { ca }) {
      send(forgery, certify(ca, await makeKey()))
    },
  },
  { attack: 'The protected header says ES384 (-35) and the signature is ES256.', ...badSignature, ...header(-35) },
  { attack: 'The protected header says HMAC 256/256 (5).', ...badSignature, ...header(5) },
  { attack: 'The protected header says ES256 as a text.', ...badSignature, ...header('ES256') },
  { attack: 'The protected header has no algorithm.', ...badSignature, ...header(undefined) },
  {
    attack: 'The algorithm stands in the unprotected header.',
    ...badSignature,
    change({ issuerAuth }) {
      issuerAuth.protectedHeader.delete(ALG)
      issuerAuth.unprotectedHeader.set(ALG, -7)
    },
  },
  {
    attack: 'A key on P-384 signs the security object, which the CA certified, under a header that says ES256.',
    ...badSignature,
    async change(forgery, { ca }) {
      const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-384' })
      send(forgery, certify(ca, privateKey))
      forgery.issuerAuth.sign = (data) =>
        Promise.resolve(sign('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' }))
    },
  },
  {
    attack: 'The signature of the security object is in DER.',
    ...badSignature,
    change({ issuerAuth }, { issuerKey }) {
      issuerAuth.sign = (data) => Promise.resolve(sign('sha256', data, issuerKey))
    },
  },
  {
    attack: 'The signature of the security object is all zeros.',
    ...badSignature,
    change({ issuerAuth }) {
      issuerAuth.sign = () => Promise.resolve(Buffer.alloc(64))
    },
  },
  {
    attack: 'The signature of the security object is empty.',
    ...badSignature,
    change({ issuerAuth }) {
      issuerAuth.sign = () => Promise.resolve(Buffer.alloc(0))
    },
  },
  {
    attack: 'What is signed is said to be the COSE_Signature of a list (Signature).',
    ...badSignature,
    change({ issuerAuth }) {
      const { sign: signed } = issuerAuth
      issuerAuth.sign = (data) =>
        signed(Buffer.from(Buffer.from(data).toString('latin1').replace('Signature1', 'Signature2'), 'latin1'))
    },
  },
  {
    attack: 'There is no certificate (x5chain).',
    ...noCertificate,
    change: ({ issuerAuth }) => void issuerAuth.unprotectedHeader.delete(X5CHAIN),
  },
  {
    attack: 'The list of certificates (x5chain) is empty.',
    ...noCertificate,
    change: (forgery) => send(forgery),
  },
  {
    attack: 'The certificate (x5chain) is garbage.',
    ...noCertificate,
    change: (forgery) => send(forgery, Buffer.from('no certificate at all')),
  },
  {
    attack: 'An attacker signs the security object, and the header has the key in place of a certificate.',
    ...noCertificate,
    async change({ issuerAuth }) {
      const key = await makeKey()
      const jwk = createPublicKey(key).export({ format: 'jwk' })
      const bytes = (text = '') => Buffer.from(text, 'base64url')
      issuerAuth.unprotectedHeader.delete(X5CHAIN)
      issuerAuth.unprotectedHeader.set(
        -1,
        new Map<CborKey, Cbor>([
          [1, 2],
          [-1, 1],
          [-2, bytes(jwk.x)],
          [-3, bytes(jwk.y)],
        ]),
      )
      issuerAuth.sign = signWith(key)
    },
  },
  {
    attack: 'The certificate of the mobile document has expired.',
    ...badCertificate,
    change: (forgery, { ca, issuerKey }) => send(forgery, certify(ca, issuerKey, { until: -1 })),
  },
  {
    attack: 'The certificate of the mobile document is not valid yet.',
    ...badCertificate,
    change: (forgery, { ca, issuerKey }) => send(forgery, certify(ca, issuerKey, { from: 1 })),
  },
  {
    attack: 'The certificate of the mobile document is for encryption, not for signatures.',
    ...badCertificate,
    change: (forgery, { ca, issuerKey }) => send(forgery, certify(ca, issuerKey, { usages: ['keyAgreement'] })),
  },
  {
    attack: 'The security object was signed before the certificate was valid.',
    ...badCertificate,
    change: (forgery, { ca, issuerKey, services }) => {
      send(forgery, certify(ca, issuerKey, { from: -2 }))
      validityInfo(forgery, { signed: past(services.clock.now, 3 * 86_400) })
    },
  },
  {
    attack:
      'An attacker signs the security object, with a self-signed certificate that says what that of the issuer says.',
    ...untrusted,
    async change(forgery) {
      const key = await makeKey()
      send(forgery, certify({ name: certificateName, key }, key))
      forgery.issuerAuth.sign = signWith(key)
    },
  },
  {
    attack: 'An attacker signs the security object, with a certificate by a CA that bears the name of the anchor.',
    ...untrusted,
    async change(forgery, { ca }) {
      const [key, other] = [await makeKey(), await makeAuthority('Example CA')]
      send(forgery, certify(other, key), ca.der)
      forgery.issuerAuth.sign = signWith(key)
    },
  },
  {
    attack: 'An attacker signs the security object, with a certificate by another CA that is sent along.',
    ...untrusted,
    async change(forgery) {
      const [key, other] = [await makeKey(), await makeAuthority('Other CA')]
      send(forgery, certify(other, key), other.der)
      forgery.issuerAuth.sign = signWith(key)
    },
  },
  {
    attack:
      'An attacker signs the security object with a self-signed certificate, and sends the one of the issuer behind it.',
    ...untrusted,
    async change(forgery, { ca, issuerKey }) {
      const key = await makeKey()
      send(forgery, certify({ name: certificateName, key }, key), certify(ca, issuerKey))
      forgery.issuerAuth.sign = signWith(key)
    },
  },
  {
    attack: 'An issuer of mobile documents that is trusted, but is not a CA, certifies another key for its name.',
    ...untrusted,
    async change(forgery, { ca, issuerKey }) {
      const key = await makeKey()
      send(forgery, certify({ name: certificateName, key: issuerKey }, key), certify(ca, issuerKey))
      forgery.issuerAuth.sign = signWith(key)
    },
  },
]
