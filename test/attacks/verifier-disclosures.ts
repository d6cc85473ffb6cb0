/**
 * Attacks on the disclosures of an SD-JWT: changes by the holder, and mistakes of the issuer that a holder could use.
 */

import { digestOf } from '../../src/codec/digest.ts'
import { type Json, type JsonObject, memberOf } from '../../src/codec/json.ts'
import { conceal, concealMember, contentOf, disclosure, disclosureOf, subjectOf } from '../support/forge.ts'
import { type Attack, after } from './attack.ts'

const badDisclosure = { fails: 'disclosures.valid', notRun: after.disclosures }
/** A query that does not ask for claims without which other checks fail as well. */
const anyType = { query: () => ({ meta: {} }) }
const anyHolder = { query: () => ({ require_cryptographic_holder_binding: false }) }

/** Adds a further claim of the subject behind a disclosure of that text. */
function extra(text: () => string): Pick<Attack, 'change'> {
  return { change: (forgery) => conceal(forgery, subjectOf(forgery), text()) }
}

function hash(name: Json): Pick<Attack, 'change'> {
  return { change: ({ payload }) => void Object.assign(payload, { _sd_alg: name }) }
}

/** Puts a member of the payload that the issuer should have shown behind a digest, disclosed. */
function concealSigned(name: string, value?: Json): Pick<Attack, 'attack' | 'change'> {
  return {
    attack: `The issuer left it to the holder to show ${name}.`,
    change(forgery) {
      if (value !== undefined) forgery.payload[name] = value
      concealMember(forgery, forgery.payload, name)
    },
  }
}

/** Returns the text of the same bytes, with bits set that a decoder drops. */
function loosely(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(text.at(-1) ?? '')
  return text.slice(0, -1) + (alphabet[last + 1] ?? '')
}

export const disclosureAttacks: readonly Attack[] = [
  {
    attack: 'The holder adds a claim of which the issuer knows nothing.',
    ...badDisclosure,
    change: ({ disclosures }) => void disclosures.push(disclosure('role', 'professor')),
  },
  {
    attack: 'The holder changes the value of a disclosed claim.',
    ...badDisclosure,
    change(forgery) {
      const old = disclosureOf(forgery, 'given_name')
      const [salt] = contentOf(old) as Json[]
      const text = Buffer.from(JSON.stringify([salt, 'given_name', 'Grace'])).toString('base64url')
      forgery.disclosures = forgery.disclosures.map((each) => (each === old ? text : each))
    },
  },
  {
    attack: 'A disclosure is sent twice.',
    ...badDisclosure,
    change: (forgery) => void forgery.disclosures.push(disclosureOf(forgery, 'given_name')),
  },
  {
    attack: 'A disclosure is empty.',
    ...badDisclosure,
    change: ({ disclosures }) => void disclosures.push(''),
  },
  {
    attack: 'A digest occurs twice in one object.',
    ...badDisclosure,
    change(forgery) {
      const digests = subjectOf(forgery)._sd as Json[]
      digests.push(digests[0] ?? null)
    },
  },
  {
    attack: 'A digest occurs at two levels.',
    ...badDisclosure,
    change: (forgery) => {
      forgery.payload.nested = { _sd: [digestOf(disclosureOf(forgery, 'given_name'))] }
    },
  },
  {
    attack: 'A digest for which there is no disclosure occurs twice.',
    ...badDisclosure,
    change: (forgery) => {
      forgery.payload.nested = { _sd: [digestOf('decoy'), digestOf('decoy')] }
    },
  },
  { attack: 'A disclosure is for a claim named _sd.', ...badDisclosure, ...extra(() => disclosure('_sd', [])) },
  { attack: 'A disclosure is for a claim named "...".', ...badDisclosure, ...extra(() => disclosure('...', 'x')) },
  {
    attack: 'A disclosed member has a member named "..." inside.',
    ...badDisclosure,
    ...extra(() => disclosure('inside', { '...': 'x' })),
  },
  {
    attack: 'A disclosure overwrites the issuer (iss).',
    ...badDisclosure,
    change: (forgery) => conceal(forgery, forgery.payload, disclosure('iss', 'http://other.localhost')),
  },
  {
    attack: 'A disclosure overwrites the key of the holder (cnf).',
    ...badDisclosure,
    change: (forgery, { holder }) => conceal(forgery, forgery.payload, disclosure('cnf', { jwk: { ...holder.jwk } })),
  },
  {
    attack: 'A disclosure overwrites a claim that the issuer shows.',
    ...badDisclosure,
    change(forgery) {
      subjectOf(forgery).nickname = 'Countess'
      conceal(forgery, subjectOf(forgery), disclosure('nickname', 'Baroness'))
    },
  },
  {
    attack: 'Two disclosures are for one claim.',
    ...badDisclosure,
    ...extra(() => disclosure('given_name', 'Grace')),
  },
  {
    attack: 'A disclosure for an element of an array stands for a member of an object.',
    ...badDisclosure,
    ...extra(() => disclosure('PhD')),
  },
  {
    attack: 'A disclosure for a member of an object stands for an element of an array.',
    ...badDisclosure,
    change(forgery) {
      const text = disclosure('title', 'PhD')
      subjectOf(forgery).titles = [{ '...': digestOf(text) }]
      forgery.disclosures.push(text)
    },
  },
  {
    attack: 'A concealed element of an array has other members beside its digest.',
    ...badDisclosure,
    change: (forgery) => {
      subjectOf(forgery).titles = [{ '...': digestOf('decoy'), title: 'PhD' }]
    },
  },
  { attack: 'A disclosure has a salt and nothing else.', ...badDisclosure, ...extra(() => disclosure()) },
  {
    attack: 'A disclosure has four elements.',
    ...badDisclosure,
    ...extra(() => disclosure('nickname', 'Countess', 'Baroness')),
  },
  { attack: 'A disclosure has a number for a name.', ...badDisclosure, ...extra(() => disclosure(1, 'x')) },
  {
    attack: 'A disclosure has a number for a salt.',
    ...badDisclosure,
    ...extra(() => Buffer.from('[1,"nickname","x"]').toString('base64url')),
  },
  {
    attack: 'A disclosure is an object.',
    ...badDisclosure,
    ...extra(() => Buffer.from('{"nickname":"x"}').toString('base64url')),
  },
  {
    attack: 'A disclosure is not JSON.',
    ...badDisclosure,
    ...extra(() => Buffer.from('nickname').toString('base64url')),
  },
  {
    attack: 'A disclosure is base64url with bits that a decoder drops.',
    ...badDisclosure,
    ...extra(() => loosely(Buffer.from('["c2FsdA","nickname","Countes"]').toString('base64url'))),
  },
  {
    attack: 'A disclosure is base64 with padding.',
    ...badDisclosure,
    ...extra(() => Buffer.from('["c2FsdA","nickname","Countes"]').toString('base64')),
  },
  {
    attack: 'A disclosure is nested deeper than anybody needs.',
    ...badDisclosure,
    ...extra(() => disclosure('deep', JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) as Json)),
  },
  {
    attack: 'Disclosures lead one into the other, each a little deeper than the last.',
    ...badDisclosure,
    change(forgery) {
      let text = disclosure('end')
      for (let level = 0; level < 60; level++) {
        forgery.disclosures.push(text)
        text = disclosure([{ '...': digestOf(text) }])
      }
      forgery.disclosures.push(text)
      subjectOf(forgery).deep = [{ '...': digestOf(text) }]
    },
  },
  {
    attack: 'The digests are not an array.',
    ...badDisclosure,
    change: (forgery) => {
      forgery.payload.nested = { _sd: digestOf('decoy') }
    },
  },
  {
    attack: 'A digest is a number.',
    ...badDisclosure,
    change: (forgery) => {
      forgery.payload.nested = { _sd: [1] }
    },
  },
  { attack: 'The hash of the disclosures is unknown.', ...badDisclosure, ...hash('sha3-256') },
  { attack: 'The hash of the disclosures is null.', ...badDisclosure, ...hash(null) },
  { ...badDisclosure, ...concealSigned('iss') },
  { ...badDisclosure, ...concealSigned('exp') },
  { ...badDisclosure, ...concealSigned('nbf', 1) },
  { ...badDisclosure, ...concealSigned('aud', 'anybody') },
  { ...badDisclosure, ...anyHolder, ...concealSigned('cnf') },
  { ...badDisclosure, ...concealSigned('status', { status_list: { idx: 1, uri: 'https://a.example' } }) },
  {
    attack: 'The issuer left it to the holder to show the key inside cnf.',
    ...badDisclosure,
    ...anyHolder,
    change: (forgery) => concealMember(forgery, forgery.payload.cnf as JsonObject, 'jwk'),
  },
]

export const w3cDisclosureAttacks: readonly Attack[] = [
  { ...badDisclosure, ...concealSigned('iat') },
  { ...badDisclosure, ...concealSigned('issuer') },
  { ...badDisclosure, ...concealSigned('validFrom') },
  { ...badDisclosure, ...concealSigned('validUntil') },
  { ...badDisclosure, ...concealSigned('@context') },
  { ...badDisclosure, ...anyType, ...concealSigned('type') },
  {
    attack:
      'The issuer left it to the holder to show that the credential was valid until yesterday (nbf and exp apart).',
    ...badDisclosure,
    change: (forgery) => conceal(forgery, forgery.payload, disclosure('expirationDate', '2020-01-01T00:00:00Z')),
  },
  {
    attack: 'The issuer left it to the holder to show one of the types.',
    ...badDisclosure,
    change(forgery) {
      const text = disclosure('RevokedCard')
      ;(forgery.payload.type as Json[]).push({ '...': digestOf(text) })
      forgery.disclosures.push(text)
    },
  },
  {
    attack: 'The issuer left it to the holder to show the name of the issuer inside issuer.',
    ...badDisclosure,
    change(forgery) {
      forgery.payload.issuer = {}
      conceal(forgery, forgery.payload.issuer, disclosure('id', 'http://issuer.localhost'))
    },
  },
  {
    attack: 'The credential stands inside vc, and the issuer left it to the holder to show when it ends.',
    ...badDisclosure,
    change(forgery) {
      const vc: JsonObject = {}
      for (const name of ['@context', 'type', 'issuer', 'validFrom', 'validUntil', 'credentialSubject']) {
        vc[name] = memberOf(forgery.payload, name) ?? null
        Reflect.deleteProperty(forgery.payload, name)
      }
      forgery.payload.vc = vc
      concealMember(forgery, vc, 'validUntil')
    },
  },
]

/** Attacks on the members that SD-JWT VC has. */
export const sdJwtVcDisclosureAttacks: readonly Attack[] = [
  { ...badDisclosure, ...anyType, ...concealSigned('vct') },
  { ...badDisclosure, ...concealSigned('vct#integrity', 'sha256-x') },
  { ...badDisclosure, ...concealSigned('aka_vcts', ['urn:example:student-card']) },
  {
    attack: 'The issuer left it to the holder to show one of the other names of the type.',
    ...badDisclosure,
    change(forgery) {
      const text = disclosure('urn:example:revoked-card')
      forgery.payload.aka_vcts = [{ '...': digestOf(text) }]
      forgery.disclosures.push(text)
    },
  },
  {
    attack: 'A disclosure overwrites the type (vct).',
    ...badDisclosure,
    change: (forgery) => conceal(forgery, forgery.payload, disclosure('vct', 'urn:example:professor-card')),
  },
]
