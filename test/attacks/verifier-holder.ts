/** Attacks on the holder's agreement to this presentation, for us, in this session. */
import { createHmac, createPublicKey } from 'node:crypto'
import { toBase64url } from '../../src/codec/base64url.ts'
import { digestOf } from '../../src/codec/digest.ts'
import type { Json, JsonObject } from '../../src/codec/json.ts'
import { toDidJwk } from '../../src/keys/did.ts'
import { conceal, disclosure, disclosureOf, type Forgery, signWith, subjectOf } from '../support/forge.ts'
import { makeKey } from '../support/services.ts'
import { holderSigner, issueCredential, startVerification } from '../support/wire.ts'
import { type Attack, after } from './attack.ts'

const unbound = { fails: 'holder.binding', notRun: after.binding }
const YEAR = 365 * 86_400

function bindingOf(forgery: Forgery): NonNullable<Forgery['binding']> {
  if (forgery.binding === undefined) throw new Error('no key binding')
  return forgery.binding
}

/** Replaces one claim of the key binding, or takes it away. */
function claim(name: string, value: (old: Json | undefined) => Json | undefined): Pick<Attack, 'change'> {
  return {
    change(forgery) {
      const { payload } = bindingOf(forgery)
      const next = value(payload[name])
      if (next === undefined) Reflect.deleteProperty(payload, name)
      else payload[name] = next
    },
  }
}

/** Replaces the digest of the disclosures in the key binding. */
function sdHash(make: (bound: string) => Json | undefined): Pick<Attack, 'change'> {
  return {
    change(forgery) {
      bindingOf(forgery).sdHash = make
    },
  }
}

export const holderAttacks: readonly Attack[] = [
  {
    attack: 'The presentation has no key binding.',
    ...unbound,
    change(forgery) {
      forgery.binding = undefined
    },
  },
  {
    attack: 'The key binding has the type of a key proof, which wallets sign for any issuer that asks.',
    ...unbound,
    change(forgery) {
      bindingOf(forgery).header.typ = 'openid4vci-proof+jwt'
    },
  },
  {
    attack: 'The issuer bound the credential to no key.',
    ...unbound,
    change({ payload }) {
      Reflect.deleteProperty(payload, 'cnf')
    },
  },
  {
    attack: 'The credential names its key by an identifier only, and the key stands in the key binding.',
    ...unbound,
    change(forgery, { holder }) {
      forgery.payload.cnf = { kid: 'key-1' }
      bindingOf(forgery).header.jwk = { ...holder.jwk }
    },
  },
  {
    attack: 'The private key of the holder is in the credential.',
    ...unbound,
    change({ payload }, { holder }) {
      payload.cnf = { jwk: { ...holder.jwk, d: toBase64url(Buffer.alloc(32, 1)) } }
    },
  },
  {
    attack: 'The bound key is a shared secret.',
    ...unbound,
    change(forgery) {
      const secret = Buffer.alloc(32, 7)
      forgery.payload.cnf = { jwk: { kty: 'oct', k: toBase64url(secret) } }
      bindingOf(forgery).header.alg = 'HS256'
      bindingOf(forgery).sign = (data) => Promise.resolve(createHmac('sha256', secret).update(data).digest())
    },
  },
  {
    attack: 'The bound key is on another curve.',
    ...unbound,
    change({ payload }, { holder }) {
      payload.cnf = { jwk: { ...holder.jwk, crv: 'secp256k1' } }
    },
  },
  {
    attack: 'The signature of the key binding has one bit changed.',
    module: 'oid4vp-1final-verifier-invalid-kb-jwt-signature',
    fails: 'holder.signature',
    change(forgery) {
      const { sign } = bindingOf(forgery)
      bindingOf(forgery).sign = async (data) => (await sign(data)).map((byte, at) => (at === 3 ? byte ^ 0x80 : byte))
    },
  },
  {
    attack: 'A thief without the bound key signs the key binding.',
    fails: 'holder.signature',
    async change(forgery) {
      bindingOf(forgery).sign = signWith(await makeKey())
    },
  },
  {
    attack: 'A thief signs the key binding and puts the key into its header.',
    fails: 'holder.signature',
    async change(forgery) {
      const thief = await holderSigner()
      bindingOf(forgery).header.jwk = { ...thief.jwk }
      bindingOf(forgery).sign = (data) => thief.sign(data)
    },
  },
  {
    attack: 'The issuer signs the key binding in place of the holder.',
    fails: 'holder.signature',
    change(forgery, { issuerKey }) {
      bindingOf(forgery).sign = signWith(issuerKey)
    },
  },
  {
    attack: 'The algorithm of the key binding is none.',
    fails: 'holder.signature',
    change(forgery) {
      bindingOf(forgery).header.alg = 'none'
      bindingOf(forgery).sign = () => Promise.resolve(Buffer.alloc(0))
    },
  },
  {
    attack: 'The algorithm of the key binding is HS256, and the bound key is the secret.',
    fails: 'holder.signature',
    change(forgery, { holder }) {
      const secret = createPublicKey({ key: { ...holder.jwk }, format: 'jwk' }).export({ type: 'spki', format: 'der' })
      bindingOf(forgery).header.alg = 'HS256'
      bindingOf(forgery).sign = (data) => Promise.resolve(createHmac('sha256', secret).update(data).digest())
    },
  },
  {
    attack: 'The bound key is a point off the curve.',
    fails: 'holder.signature',
    change({ payload }, { holder }) {
      payload.cnf = { jwk: { ...holder.jwk, y: holder.jwk.x } }
    },
  },
  {
    attack: 'The nonce of the key binding is another one.',
    module: 'oid4vp-1final-verifier-invalid-kb-jwt-nonce',
    fails: 'holder.nonce',
    ...claim('nonce', () => 'a nonce that nobody asked for'),
  },
  {
    attack: 'The presentation was made for another session with the same verifier.',
    fails: 'holder.nonce',
    async change(forgery, { services }) {
      bindingOf(forgery).payload.nonce = (await startVerification(services)).request.nonce
    },
  },
  { attack: 'The key binding has no nonce.', fails: 'holder.nonce', ...claim('nonce', () => undefined) },
  {
    attack: 'The nonce of the key binding is an array with the right one in it.',
    fails: 'holder.nonce',
    ...claim('nonce', (nonce) => [nonce ?? null]),
  },
  {
    attack: 'The presentation was made for another verifier, who passes it on.',
    module: 'oid4vp-1final-verifier-invalid-kb-jwt-aud',
    fails: 'holder.audience',
    ...claim('aud', () => `x509_hash:${digestOf('another certificate')}`),
  },
  {
    attack: 'The audience is the hash without its prefix.',
    fails: 'holder.audience',
    ...claim('aud', (audience) => (audience as string).replace('x509_hash:', '')),
  },
  {
    attack: 'The audience is the right hash under another prefix.',
    fails: 'holder.audience',
    ...claim('aud', (audience) => (audience as string).replace('x509_hash:', 'x509_san_dns:')),
  },
  {
    attack: 'The audience is the address of the verifier.',
    fails: 'holder.audience',
    ...claim('aud', () => 'http://verifier.localhost'),
  },
  {
    attack: 'The key binding is for two audiences.',
    fails: 'holder.audience',
    ...claim('aud', (audience) => [audience ?? null, 'x509_hash:other']),
  },
  { attack: 'The key binding has no audience.', fails: 'holder.audience', ...claim('aud', () => undefined) },
  {
    attack: 'The key binding is a year old.',
    module: 'oid4vp-1final-verifier-kb-jwt-iat-in-past',
    fails: 'holder.fresh',
    ...claim('iat', (at) => Number(at) - YEAR),
  },
  {
    attack: 'The key binding is from next year.',
    module: 'oid4vp-1final-verifier-kb-jwt-iat-in-future',
    fails: 'holder.fresh',
    ...claim('iat', (at) => Number(at) + YEAR),
  },
  {
    attack: 'The key binding is older than the session by more than clocks differ.',
    fails: 'holder.fresh',
    ...claim('iat', (at) => Number(at) - 62),
  },
  {
    attack: 'The key binding is ahead of us by more than clocks differ.',
    fails: 'holder.fresh',
    ...claim('iat', (at) => Number(at) + 62),
  },
  { attack: 'The time of the key binding is text.', fails: 'holder.fresh', ...claim('iat', String) },
  { attack: 'The time of the key binding is null.', fails: 'holder.fresh', ...claim('iat', () => null) },
  {
    attack: 'The time of the key binding is beyond all calendars.',
    fails: 'holder.fresh',
    ...claim('iat', () => 1e300),
  },
  {
    attack: 'The key binding says that it has expired.',
    fails: 'holder.fresh',
    ...claim('exp', () => Math.floor(Date.now() / 1000) - 3600),
  },
  {
    attack: 'The key binding says that it is not valid yet.',
    fails: 'holder.fresh',
    ...claim('nbf', () => Math.floor(Date.now() / 1000) + 3600),
  },
]

/** Attacks on the key binding of an SD-JWT. */
export const keyBindingAttacks: readonly Attack[] = [
  {
    attack: 'The type of the key binding is JWT.',
    ...unbound,
    change(forgery) {
      bindingOf(forgery).header.typ = 'JWT'
    },
  },
  {
    attack: 'The key binding has no type.',
    ...unbound,
    change(forgery) {
      Reflect.deleteProperty(bindingOf(forgery).header, 'typ')
    },
  },
  { attack: 'The key binding does not say when it was made.', fails: 'holder.fresh', ...claim('iat', () => undefined) },
  {
    attack: 'The key binding was made for another credential.',
    module: 'oid4vp-1final-verifier-invalid-sd-hash',
    fails: 'holder.sd_hash',
    ...sdHash(() => digestOf('another credential~')),
  },
  { attack: 'The key binding does not say for what it was made.', fails: 'holder.sd_hash', ...sdHash(() => undefined) },
  {
    attack: 'The hash in the key binding is an array.',
    fails: 'holder.sd_hash',
    ...sdHash((bound) => [digestOf(bound)]),
  },
  {
    attack: 'The key binding is for the credential without any disclosure.',
    fails: 'holder.sd_hash',
    ...sdHash((bound) => digestOf(`${bound.split('~')[0] ?? ''}~`)),
  },
  {
    attack: 'The hash in the key binding leaves out the last tilde.',
    fails: 'holder.sd_hash',
    ...sdHash((bound) => digestOf(bound.slice(0, -1))),
  },
  {
    attack: 'A disclosure is taken away after the holder has signed.',
    fails: 'holder.sd_hash',
    change(forgery) {
      const text = disclosureOf(forgery, 'family_name')
      forgery.afterwards = (presentation) => presentation.replace(`~${text}~`, '~')
    },
  },
  {
    attack: 'A disclosure of the credential is added after the holder has signed.',
    fails: 'holder.sd_hash',
    change(forgery) {
      const text = disclosure('nickname', 'Countess')
      conceal(forgery, subjectOf(forgery), text)
      forgery.disclosures.pop()
      forgery.afterwards = (presentation) => presentation.replace('~', `~${text}~`)
    },
  },
  {
    attack: 'The disclosures are sent in another order than the holder signed.',
    fails: 'holder.sd_hash',
    change(forgery) {
      forgery.afterwards = (presentation) => {
        const [jwt = '', first = '', second = '', ...rest] = presentation.split('~')
        return [jwt, second, first, ...rest].join('~')
      }
    },
  },
]

/** Attacks on the presentation that is around a JWT. */
export const vpAttacks: readonly Attack[] = [
  {
    attack: 'The presentation has the type of a key binding.',
    ...unbound,
    change(forgery) {
      bindingOf(forgery).header.typ = 'kb+jwt'
    },
  },
  {
    attack: 'The presentation does not say that it is one.',
    ...unbound,
    ...vp((members) => ({ ...members, type: [] })),
  },
  {
    attack: 'The presentation says that it is a credential.',
    ...unbound,
    ...vp((members) => ({ ...members, type: ['VerifiableCredential'] })),
  },
  {
    attack: 'A thief presents the credential as its subject, and says so in the presentation.',
    fails: 'holder.signature',
    async change(forgery) {
      const thief = await holderSigner()
      const did = toDidJwk(thief.jwk)
      const { payload, header } = bindingOf(forgery)
      Object.assign(payload, { iss: did, sub: did })
      Object.assign(header, { kid: `${did}#0` })
      bindingOf(forgery).sign = (data) => thief.sign(data)
    },
  },
  {
    attack: 'The holder presents the credential of somebody else.',
    fails: 'holder.signature',
    async change(forgery, { services, profile }) {
      const theirs = await issueCredential(services, await holderSigner(), profile.configuration)
      forgery.vp = () => presentationOf(theirs)
    },
  },
  {
    attack: 'The issuer bound the credential to its subject, who is somebody else.',
    fails: 'holder.signature',
    async change({ payload }) {
      Reflect.deleteProperty(payload, 'cnf')
      payload.sub = toDidJwk((await holderSigner()).jwk)
    },
  },
  {
    attack: 'The issuer bound the credential to its subject, who is not a key.',
    ...unbound,
    change({ payload }) {
      Reflect.deleteProperty(payload, 'cnf')
      payload.sub = 'did:web:holder.example'
    },
  },
  {
    attack: 'The issuer bound the credential to two subjects.',
    ...unbound,
    async change(forgery, { holder }) {
      Reflect.deleteProperty(forgery.payload, 'cnf')
      forgery.payload.sub = toDidJwk(holder.jwk)
      subjectOf(forgery).id = toDidJwk((await holderSigner()).jwk)
    },
  },
]

/** Replaces members of the presentation. */
function vp(change: (made: JsonObject) => JsonObject): Pick<Attack, 'change'> {
  return {
    change(forgery) {
      const { vp: make } = forgery
      forgery.vp = (jwt) => change(make?.(jwt) as JsonObject)
    },
  }
}

function presentationOf(jwt: string): JsonObject {
  return { type: ['VerifiablePresentation'], verifiableCredential: [jwt] }
}
