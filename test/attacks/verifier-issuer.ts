/** Attacks on who issued the credential: its signature, its certificate, the path to an anchor, its name. */
import { createHmac, createPublicKey, generateKeyPair, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { readJws } from '../../src/codec/jws.ts'
import { certificateName, certify, type Forgery, makeAuthority, signWith, w3cOf } from '../support/forge.ts'
import { makeKey } from '../support/services.ts'
import { type Attack, after } from './attack.ts'

/** Encodes certificates in standard base64, as `x5c` has them. */
const sent = (...certificates: readonly Uint8Array[]) => certificates.map((der) => Buffer.from(der).toString('base64'))

const badSignature = { fails: 'issuer.signature', notRun: after.signature }
const badCertificate = { fails: 'issuer.certificate', notRun: after.certificate }
/** Without a certificate that can be read there is no key either, and nothing to compare a name with. */
const noCertificate = { fails: 'issuer.certificate', notRun: after.noCertificate }
/** An authority other than those that the wallet was asked for. */
const AUTHORITY = 'c3VjaCBhbiBhdXRob3JpdHk'
const otherAuthority = {
  fails: 'query.trusted_authorities',
  query: () => ({ trusted_authorities: [{ type: 'aki', values: [AUTHORITY] }] }),
}
/** A chain in another form than that of JOSE is not read at all. */
const unreadable = { fails: 'presentation.well_formed', notRun: after.reading }
const untrusted = { fails: 'issuer.trusted', notRun: after.trust }

export const issuerAttacks: readonly Attack[] = [
  {
    attack: 'The signature of the credential has one bit changed.',
    module: 'oid4vp-1final-verifier-invalid-credential-signature',
    ...badSignature,
    change(forgery) {
      const { signCredential } = forgery
      forgery.signCredential = async (data) =>
        (await signCredential(data)).map((byte, at) => (at === 40 ? byte ^ 1 : byte))
    },
  },
  {
    attack: 'A claim of the credential is changed under the signature of the issuer.',
    module: 'oid4vp-1final-verifier-invalid-credential-signature',
    ...badSignature,
    change(forgery, { credential }) {
      const { signature } = readJws(credential.split('~')[0] ?? '')
      forgery.payload.id = 'urn:other'
      forgery.signCredential = () => Promise.resolve(signature)
    },
  },
  {
    attack: 'The holder signs the credential, and sends the certificate of the issuer with it.',
    ...badSignature,
    change(forgery, { holder }) {
      forgery.signCredential = (data) => holder.sign(data)
    },
  },
  {
    attack: 'The issuer signed, but the certificate is for another key of the same name.',
    ...badSignature,
    async change({ header }, { ca }) {
      header.x5c = sent(certify(ca, await makeKey()))
    },
  },
  {
    attack: 'The algorithm is none, and there is no signature.',
    ...badSignature,
    change(forgery) {
      forgery.header.alg = 'none'
      forgery.signCredential = () => Promise.resolve(Buffer.alloc(0))
    },
  },
  {
    attack: 'The algorithm is HS256, and the public key of the issuer is the secret.',
    ...badSignature,
    change(forgery, { issuerKey }) {
      const secret = createPublicKey(issuerKey).export({ type: 'spki', format: 'pem' })
      forgery.header.alg = 'HS256'
      forgery.signCredential = (data) => Promise.resolve(createHmac('sha256', secret).update(data).digest())
    },
  },
  {
    attack: 'The header says ES384 and the signature is ES256.',
    ...badSignature,
    change({ header }) {
      header.alg = 'ES384'
    },
  },
  {
    attack: 'The header has no algorithm.',
    ...badSignature,
    change({ header }) {
      Reflect.deleteProperty(header, 'alg')
    },
  },
  {
    attack: 'A key on P-384 signs, which the CA certified, under a header that says ES256.',
    ...badSignature,
    async change(forgery, { ca }) {
      const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-384' })
      forgery.header.x5c = sent(certify(ca, privateKey))
      forgery.signCredential = (data) =>
        Promise.resolve(sign('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' }))
    },
  },
  {
    attack: 'The signature is in DER, as X.509 has it and JOSE does not.',
    ...badSignature,
    change(forgery, { issuerKey }) {
      forgery.signCredential = (data) => Promise.resolve(sign('sha256', data, issuerKey))
    },
  },
  {
    attack: 'The signature is all zeros.',
    ...badSignature,
    change(forgery) {
      forgery.signCredential = () => Promise.resolve(Buffer.alloc(64))
    },
  },
  {
    attack: 'An attacker signs, and the header has the key (jwk) in place of a certificate.',
    ...noCertificate,
    async change(forgery) {
      const key = await makeKey()
      Reflect.deleteProperty(forgery.header, 'x5c')
      forgery.header.jwk = createPublicKey(key).export({ format: 'jwk' }) as Record<string, string>
      forgery.signCredential = signWith(key)
    },
  },
  {
    attack: 'There is no certificate.',
    ...noCertificate,
    change({ header }) {
      Reflect.deleteProperty(header, 'x5c')
    },
  },
  {
    attack: 'The list of certificates is empty.',
    ...noCertificate,
    change({ header }) {
      header.x5c = []
    },
  },
  {
    attack: 'The certificate is a text and not a list.',
    ...unreadable,
    change({ header }) {
      const [leaf = ''] = header.x5c as string[]
      header.x5c = leaf
    },
  },
  {
    attack: 'The certificate stands among values that are not text.',
    ...unreadable,
    change({ header }) {
      header.x5c = [null, ...(header.x5c as string[]), 5]
    },
  },
  {
    attack: 'The certificate is in base64url.',
    ...unreadable,
    change({ header }) {
      header.x5c = (header.x5c as string[]).map((text) => Buffer.from(text, 'base64').toString('base64url'))
    },
  },
  {
    attack: 'The certificate has a line break and a character that is not of base64 inside.',
    ...unreadable,
    change({ header }) {
      header.x5c = (header.x5c as string[]).map((text) => `${text.slice(0, 64)}\n!${text.slice(64)}`)
    },
  },
  {
    attack: 'The certificate is garbage.',
    ...noCertificate,
    change({ header }) {
      header.x5c = [Buffer.from('no certificate at all').toString('base64')]
    },
  },
  {
    attack: 'The certificate is cut off.',
    ...noCertificate,
    change({ header }) {
      const [leaf = ''] = header.x5c as string[]
      header.x5c = [leaf.slice(0, 200)]
    },
  },
  {
    attack: 'The certificate has expired.',
    ...badCertificate,
    change({ header }, { ca, issuerKey }) {
      header.x5c = sent(certify(ca, issuerKey, { until: -1 }))
    },
  },
  {
    attack: 'The certificate is not valid yet.',
    ...badCertificate,
    change({ header }, { ca, issuerKey }) {
      header.x5c = sent(certify(ca, issuerKey, { from: 1 }))
    },
  },
  {
    attack: 'The certificate is for encryption, not for signatures.',
    ...badCertificate,
    change({ header }, { ca, issuerKey }) {
      header.x5c = sent(certify(ca, issuerKey, { usages: ['keyAgreement'] }))
    },
  },
  {
    attack: 'An attacker signs, with a self-signed certificate that says what that of the issuer says.',
    ...untrusted,
    async change(forgery) {
      const key = await makeKey()
      forgery.header.x5c = sent(certify({ name: certificateName, key }, key))
      forgery.signCredential = signWith(key)
    },
  },
  {
    attack: 'An attacker signs, with a certificate by a CA that bears the name of the anchor.',
    ...untrusted,
    async change(forgery, { ca }) {
      const [key, other] = [await makeKey(), await makeAuthority('Example CA')]
      forgery.header.x5c = sent(certify(other, key), ca.der)
      forgery.signCredential = signWith(key)
    },
  },
  {
    attack: 'An attacker signs, with a certificate by another CA that is sent along.',
    ...untrusted,
    async change(forgery) {
      const [key, other] = [await makeKey(), await makeAuthority('Other CA')]
      forgery.header.x5c = sent(certify(other, key), other.der)
      forgery.signCredential = signWith(key)
    },
  },
  {
    attack: 'An attacker signs with a self-signed certificate, and sends the one of the issuer behind it.',
    ...untrusted,
    async change(forgery, { ca, issuerKey }) {
      const key = await makeKey()
      forgery.header.x5c = sent(certify({ name: certificateName, key }, key), certify(ca, issuerKey))
      forgery.signCredential = signWith(key)
    },
  },
  {
    attack: 'An issuer that is trusted, but is not a CA, certifies another key for its name.',
    ...untrusted,
    async change(forgery, { ca, issuerKey }) {
      const key = await makeKey()
      const below = certify({ name: certificateName, key: issuerKey }, key, { uris: ['http://issuer.localhost'] })
      forgery.header.x5c = sent(below, certify(ca, issuerKey))
      forgery.signCredential = signWith(key)
    },
  },
  {
    attack: 'The CA between issuer and anchor has expired.',
    ...untrusted,
    async change({ header }, { ca, issuerKey }) {
      const between = await makeAuthority('Example Sub CA')
      const expired = certify(ca, between.key, { name: between.name, isCa: true, usages: ['keyCertSign'], until: -1 })
      header.x5c = sent(certify(between, issuerKey), expired)
    },
  },
  {
    attack: 'The CA between issuer and anchor may not sign certificates.',
    ...untrusted,
    async change({ header }, { ca, issuerKey }) {
      const between = await makeAuthority('Example Sub CA')
      const wrong = certify(ca, between.key, { name: between.name, isCa: true, usages: ['digitalSignature'] })
      header.x5c = sent(certify(between, issuerKey), wrong)
    },
  },
  {
    attack: 'The CA between issuer and anchor is not sent.',
    ...untrusted,
    async change({ header }, { issuerKey }) {
      header.x5c = sent(certify(await makeAuthority('Example Sub CA'), issuerKey))
    },
  },
  {
    attack: 'A certificate behind that of the issuer is garbage.',
    ...untrusted,
    change({ header }) {
      header.x5c = [...(header.x5c as string[]), 'AAAA']
    },
  },
  {
    attack: 'The member iss is not text, so that it cannot be compared.',
    fails: 'issuer.identifier',
    change({ payload }) {
      payload.iss = ['http://issuer.localhost']
    },
  },
  {
    attack: 'The name of the issuer is empty.',
    fails: 'issuer.identifier',
    change: (forgery) => nameIssuer(forgery, ''),
  },
  {
    attack: 'The issuer stands under another authority than the ones that were asked for.',
    ...otherAuthority,
    change({ header }, { ca, issuerKey }) {
      header.x5c = sent(certify(ca, issuerKey, { authorityKeyId: 'b3RoZXI' }), ca.der)
    },
  },
  {
    attack: 'The issuer had the authority that was asked for written into its certificate, which another signed.',
    ...otherAuthority,
    change({ header }, { ca, issuerKey }) {
      header.x5c = sent(certify(ca, issuerKey, { authorityKeyId: AUTHORITY }), ca.der)
    },
  },
  {
    attack: 'The issuer names no authority at all.',
    ...otherAuthority,
    change({ header }, { ca, issuerKey }) {
      header.x5c = sent(certify(ca, issuerKey))
    },
  },
  {
    attack: 'A certificate by the authority that was asked for is sent along, and has nothing to do with the issuer.',
    ...otherAuthority,
    async change({ header }, { ca, issuerKey }) {
      const authority = await makeAuthority('Wanted CA')
      header.x5c = sent(certify(ca, issuerKey), certify(authority, await makeKey(), { authorityKeyId: AUTHORITY }))
    },
  },
  {
    attack: 'A CA with the name of the anchor certified the issuer as well, as the authority that was asked for.',
    ...otherAuthority,
    async change({ header }, { ca, issuerKey }) {
      const other = await makeAuthority('Example CA')
      header.x5c = sent(certify(ca, issuerKey), certify(other, issuerKey, { authorityKeyId: AUTHORITY }), other.der)
    },
  },
]

export const w3cIssuerAttacks: readonly Attack[] = [
  {
    attack: 'The members iss and issuer differ.',
    fails: 'issuer.identifier',
    change({ payload }) {
      payload.iss = 'http://other.localhost'
    },
  },
  {
    attack: 'The members iss and issuer differ, where issuer is an object.',
    fails: 'issuer.identifier',
    change(forgery) {
      w3cOf(forgery).issuer = { id: 'http://other.localhost', name: 'issuer.localhost' }
    },
  },
  {
    attack: 'The credential names no issuer.',
    fails: 'issuer.identifier',
    change(forgery) {
      Reflect.deleteProperty(forgery.payload, 'iss')
      Reflect.deleteProperty(w3cOf(forgery), 'issuer')
    },
  },
  {
    attack: 'The credential names no issuer, and its certificate nobody to compare one with.',
    fails: 'issuer.identifier',
    change(forgery, { ca, issuerKey }) {
      forgery.header.x5c = sent(certify(ca, issuerKey, { uris: [] }))
      Reflect.deleteProperty(forgery.payload, 'iss')
      Reflect.deleteProperty(w3cOf(forgery), 'issuer')
    },
  },
]

function nameIssuer(forgery: Forgery, name: string): void {
  forgery.payload.iss = name
  if (forgery.profile.w3c) w3cOf(forgery).issuer = name
}
