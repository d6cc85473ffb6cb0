/** Attacks on what the credential says: its disclosures, its validity and status, and whether it is what was asked for. */
import { type Json, type JsonObject, own } from '../../src/codec/json.ts'
import { digestOf } from '../../src/codec/sd-jwt.ts'
import {
  conceal,
  concealMember,
  contentOf,
  disclosure,
  disclosureOf,
  type Forgery,
  subjectOf,
} from '../support/forge.ts'
import { type Attack, after } from './attack.ts'

const badDisclosure = { fails: 'disclosures.valid', notRun: after.disclosures }
/** For claims without which other checks fail as well: a query that does not ask these. */
const anyType = { query: { meta: {} } }
const anyHolder = { query: { require_cryptographic_holder_binding: false } }

const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
const HOUR = 3600

/** Members of the payload that the issuer signs otherwise; `members` is told what time it is, in seconds. */
function payload(members: (at: number) => JsonObject): Pick<Attack, 'change'> {
  return {
    change: (forgery, { services }) =>
      void Object.assign(forgery.payload, members(Math.floor(services.clock.now.getTime() / 1000))),
  }
}

function type(typ: string): Pick<Attack, 'change'> {
  return {
    change: ({ header }) => {
      header.typ = typ
    },
  }
}

/** A further claim of the subject behind a disclosure of that text. */
function extra(text: () => string): Pick<Attack, 'change'> {
  return { change: (forgery) => conceal(forgery, subjectOf(forgery), text()) }
}

/** A member of the payload that the issuer should have shown is behind a digest, and disclosed. */
function concealed(name: string): Pick<Attack, 'attack' | 'change'> {
  return {
    attack: `The issuer left it to the holder to show ${name}.`,
    change: (forgery) => concealMember(forgery, forgery.payload, name),
  }
}

/** The same text of bytes with bits set that a decoder drops. */
function loosely(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(text.at(-1) ?? '')
  return text.slice(0, -1) + (alphabet[last + 1] ?? '')
}

function removeDisclosure(forgery: Forgery, name: string): void {
  const text = disclosureOf(forgery, name)
  forgery.disclosures = forgery.disclosures.filter((each) => each !== text)
}

export const credentialAttacks: readonly Attack[] = [
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
      forgery.payload._sd = [digestOf(disclosureOf(forgery, 'given_name'))]
    },
  },
  {
    attack: 'A digest for which there is no disclosure occurs twice.',
    ...badDisclosure,
    change: (forgery) => {
      forgery.payload._sd = [digestOf('decoy'), digestOf('decoy')]
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
    attack: 'A disclosure is no JSON.',
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
    attack: 'The digests are no array.',
    ...badDisclosure,
    change: (forgery) => {
      forgery.payload._sd = digestOf('decoy')
    },
  },
  {
    attack: 'A digest is a number.',
    ...badDisclosure,
    change: (forgery) => {
      forgery.payload._sd = [1]
    },
  },
  { attack: 'The hash of the disclosures is unknown.', ...badDisclosure, ...payload(() => ({ _sd_alg: 'sha3-256' })) },
  { attack: 'The hash of the disclosures is null.', ...badDisclosure, ...payload(() => ({ _sd_alg: null })) },
  { ...badDisclosure, ...concealed('iss') },
  { ...badDisclosure, ...concealed('exp') },
  { ...badDisclosure, ...concealed('iat') },
  { ...badDisclosure, ...concealed('issuer') },
  { ...badDisclosure, ...concealed('validFrom') },
  { ...badDisclosure, ...concealed('validUntil') },
  { ...badDisclosure, ...concealed('@context') },
  { ...badDisclosure, ...anyType, ...concealed('type') },
  { ...badDisclosure, ...anyHolder, ...concealed('cnf') },
  {
    attack: 'The issuer left it to the holder to show the status.',
    ...badDisclosure,
    change: (forgery) =>
      conceal(forgery, forgery.payload, disclosure('status', { status_list: { idx: 1, uri: 'https://a.example' } })),
  },
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
        vc[name] = own(forgery.payload, name) ?? null
        Reflect.deleteProperty(forgery.payload, name)
      }
      forgery.payload.vc = vc
      concealMember(forgery, vc, 'validUntil')
    },
  },
  {
    attack: 'The credential has expired (exp).',
    fails: 'validity.not_expired',
    ...payload((at) => ({ exp: at - HOUR })),
  },
  {
    attack: 'The credential expired longer ago than clocks differ (exp).',
    fails: 'validity.not_expired',
    ...payload((at) => ({ exp: at - 62 })),
  },
  {
    attack: 'The credential has expired (validUntil).',
    fails: 'validity.not_expired',
    ...payload((at) => ({ validUntil: iso(at - HOUR) })),
  },
  {
    attack: 'The credential has expired (expirationDate).',
    fails: 'validity.not_expired',
    ...payload((at) => ({ expirationDate: iso(at - HOUR) })),
  },
  {
    attack: 'The expiry is text (exp).',
    fails: 'validity.not_expired',
    ...payload((at) => ({ exp: String(at + HOUR) })),
  },
  { attack: 'The expiry is null (exp).', fails: 'validity.not_expired', ...payload(() => ({ exp: null })) },
  {
    attack: 'The expiry is garbage (validUntil).',
    fails: 'validity.not_expired',
    ...payload(() => ({ validUntil: 'soon' })),
  },
  {
    attack: 'The expiry has no time zone (validUntil).',
    fails: 'validity.not_expired',
    ...payload(() => ({ validUntil: '2999-01-01T00:00:00' })),
  },
  {
    attack: 'The expiry is a number (validUntil).',
    fails: 'validity.not_expired',
    ...payload((at) => ({ validUntil: at + HOUR })),
  },
  {
    attack: 'The credential is not valid yet (nbf).',
    fails: 'validity.not_before',
    ...payload((at) => ({ nbf: at + HOUR })),
  },
  {
    attack: 'The credential is not valid for longer than clocks differ (nbf).',
    fails: 'validity.not_before',
    ...payload((at) => ({ nbf: at + 62 })),
  },
  {
    attack: 'The credential is not valid yet (validFrom).',
    fails: 'validity.not_before',
    ...payload((at) => ({ validFrom: iso(at + HOUR) })),
  },
  {
    attack: 'The credential is not valid yet (issuanceDate).',
    fails: 'validity.not_before',
    ...payload((at) => ({ issuanceDate: iso(at + HOUR) })),
  },
  {
    attack: 'The beginning is garbage (validFrom).',
    fails: 'validity.not_before',
    ...payload(() => ({ validFrom: 'now' })),
  },
  { attack: 'The beginning is an object (nbf).', fails: 'validity.not_before', ...payload(() => ({ nbf: {} })) },
  {
    attack: 'The credential has a status, which this release cannot look up.',
    fails: 'status.valid',
    ...payload(() => ({ status: { status_list: { idx: 1, uri: 'https://issuer.example/1' } } })),
  },
  {
    attack: 'The credential has a status of the W3C.',
    fails: 'status.valid',
    ...payload(() => ({ credentialStatus: { type: 'BitstringStatusListEntry' } })),
  },
  { attack: 'The status is null.', fails: 'status.valid', ...payload(() => ({ status: null })) },
  { attack: 'The credential has the type of an SD-JWT VC.', fails: 'query.format', ...type('dc+sd-jwt') },
  { attack: 'The credential has the type JWT.', fails: 'query.format', ...type('JWT') },
  { attack: 'The credential has the type of an access token.', fails: 'query.format', ...type('at+jwt') },
  { attack: 'The credential has the type of a key binding.', fails: 'query.format', ...type('kb+jwt') },
  { attack: 'The credential has the type of a request object.', fails: 'query.format', ...type('oauth-authz-req+jwt') },
  { attack: 'The credential has the type of a status list.', fails: 'query.format', ...type('statuslist+jwt') },
  {
    attack: 'The credential has no type.',
    fails: 'query.format',
    change: ({ header }) => void Reflect.deleteProperty(header, 'typ'),
  },
  {
    attack: 'The credential is an SD-JWT VC of the old name.',
    fails: 'query.format',
    ...payload(() => ({ vct: 'urn:card' })),
  },
  {
    attack: 'The credential is of another type than was asked for.',
    fails: 'query.type',
    ...payload(() => ({ type: ['VerifiableCredential', 'LibraryCard'] })),
  },
  {
    attack: 'The credential has only one of the two types that were asked for.',
    fails: 'query.type',
    ...payload(() => ({ type: 'VerifiableCredential' })),
  },
  {
    attack: 'A claim that was asked for is not disclosed.',
    fails: 'query.claims',
    notRun: after.claims,
    change: (forgery) => removeDisclosure(forgery, 'given_name'),
  },
  {
    attack: 'The claim that was asked for is there, but not where it should be.',
    fails: 'query.claims',
    notRun: after.claims,
    change(forgery) {
      removeDisclosure(forgery, 'given_name')
      conceal(forgery, forgery.payload, disclosure('given_name', 'Ada'))
    },
  },
  {
    attack: 'An element of an array that was asked for is not disclosed.',
    fails: 'query.claims',
    notRun: after.claims,
    query: { claims: [{ path: ['credentialSubject', 'degrees', 1] }] },
    change(forgery) {
      forgery.disclosures = forgery.disclosures.filter((text) => (contentOf(text) as Json[])[1] !== 'MSc')
    },
  },
  {
    attack: 'A claim has another value than was asked for.',
    fails: 'query.values',
    query: { claims: [{ path: ['credentialSubject', 'given_name'], values: ['Grace', 'Augusta'] }] },
  },
  {
    attack: 'A claim has the value that was asked for as text, and a number was asked for.',
    fails: 'query.values',
    query: { claims: [{ path: ['credentialSubject', 'degrees', null], values: [1] }] },
  },
]
