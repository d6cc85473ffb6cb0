/** Attacks on the content of the credential: its validity and status, and whether it is what was asked for. */
import type { Json, JsonObject } from '../../src/codec/json.ts'
import { VCDM_1_CONTEXT, VCDM_2_CONTEXT } from '../../src/credential/w3c/members.ts'
import {
  conceal,
  contentOf,
  disclosure,
  disclosureOf,
  type Forgery,
  subjectOf,
  type World,
  w3cOf,
} from '../support/forge.ts'
import { type Attack, after } from './attack.ts'

/** A query that asks for no type and no claim, for credentials that are of none. */
const anything = { query: () => ({ meta: {}, claims: undefined }) }
const anyType = { query: () => ({ meta: {} }) }

const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
const HOUR = 3600

/** Replaces members of the payload that the issuer signs; `members` is told the time in seconds. */
function payload(members: (at: number) => JsonObject): Pick<Attack, 'change'> {
  return { change: (forgery, world) => void Object.assign(forgery.payload, members(secondsOf(world))) }
}

/** Replaces members of a W3C credential in the same way. */
function w3c(members: (at: number) => JsonObject): Pick<Attack, 'change'> {
  return { change: (forgery, world) => void Object.assign(w3cOf(forgery), members(secondsOf(world))) }
}

function secondsOf({ services }: World): number {
  return Math.floor(services.clock.now.getTime() / 1000)
}

/** Takes a member away from a W3C credential. */
function without(member: string): Pick<Attack, 'change'> {
  return { change: (forgery) => void Reflect.deleteProperty(w3cOf(forgery), member) }
}

/** Replaces the subject of a W3C credential, of which no claim is concealed then. */
function subject(credentialSubject: Json | undefined): Pick<Attack, 'change'> {
  return {
    change(forgery) {
      forgery.disclosures = []
      if (credentialSubject === undefined) Reflect.deleteProperty(w3cOf(forgery), 'credentialSubject')
      else w3cOf(forgery).credentialSubject = credentialSubject
    },
  }
}

function type(typ: Json): Pick<Attack, 'change'> {
  return {
    change: ({ header }) => {
      header.typ = typ
    },
  }
}

function removeDisclosure(forgery: Forgery, name: string): void {
  const text = disclosureOf(forgery, name)
  forgery.disclosures = forgery.disclosures.filter((each) => each !== text)
}

export const credentialAttacks: readonly Attack[] = [
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
    attack: 'The expiry is text (exp).',
    fails: 'validity.not_expired',
    ...payload((at) => ({ exp: String(at + HOUR) })),
  },
  { attack: 'The expiry is null (exp).', fails: 'validity.not_expired', ...payload(() => ({ exp: null })) },
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
    attack: 'The credential was issued later than clocks differ (iat).',
    fails: 'validity.not_before',
    ...payload((at) => ({ iat: at + 62 })),
  },
  { attack: 'The time of issuance is text (iat).', fails: 'validity.not_before', ...payload(() => ({ iat: 'now' })) },
  { attack: 'The beginning is an object (nbf).', fails: 'validity.not_before', ...payload(() => ({ nbf: {} })) },
  {
    attack: 'The credential names a status list that nobody serves.',
    fails: 'status.valid',
    ...payload(() => ({ status: { status_list: { idx: 1, uri: 'https://issuer.example/1' } } })),
  },
  { attack: 'The status is null.', fails: 'status.valid', ...payload(() => ({ status: null })) },
  { attack: 'The credential has the type of an access token.', fails: 'query.format', ...type('at+jwt') },
  { attack: 'The credential has the type of a key binding.', fails: 'query.format', ...type('kb+jwt') },
  { attack: 'The credential has the type of a request object.', fails: 'query.format', ...type('oauth-authz-req+jwt') },
  { attack: 'The credential has the type of a status list.', fails: 'query.format', ...type('statuslist+jwt') },
  { attack: 'The credential has the type of a JWT of VCDM 2.0.', fails: 'query.format', ...type('vc+jwt') },
  { attack: 'The credential has a type that is null.', fails: 'query.format', ...type(null) },
  {
    attack: 'A claim that was asked for is not in the credential.',
    fails: 'query.claims',
    notRun: after.claims,
    query: ({ root }) => ({ claims: [{ path: [...root, 'nickname'] }] }),
  },
  {
    attack: 'An element that was asked for is beyond the end of its array.',
    fails: 'query.claims',
    notRun: after.claims,
    query: ({ root }) => ({ claims: [{ path: [...root, 'degrees', 2] }] }),
  },
  {
    attack: 'A claim has another value than was asked for.',
    fails: 'query.values',
    query: ({ root }) => ({ claims: [{ path: [...root, 'given_name'], values: ['Grace', 'Augusta'] }] }),
  },
  {
    attack: 'A claim has the value that was asked for as text, and a number was asked for.',
    fails: 'query.values',
    query: ({ root }) => ({ claims: [{ path: [...root, 'degrees', null], values: [1] }] }),
  },
]

/** Attacks on claims that only disclosures show. */
export const disclosedClaimAttacks: readonly Attack[] = [
  { attack: 'The credential has the type JWT.', fails: 'query.format', ...type('JWT') },
  {
    attack: 'The credential has no type.',
    fails: 'query.format',
    change: ({ header }) => void Reflect.deleteProperty(header, 'typ'),
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
      forgery.payload.elsewhere = {}
      conceal(forgery, forgery.payload.elsewhere, disclosure('given_name', 'Ada'))
    },
  },
  {
    attack: 'An element of an array that was asked for is not disclosed.',
    fails: 'query.claims',
    notRun: after.claims,
    query: ({ root }) => ({ claims: [{ path: [...root, 'degrees', 1] }] }),
    change(forgery) {
      forgery.disclosures = forgery.disclosures.filter((text) => (contentOf(text) as Json[])[1] !== 'MSc')
    },
  },
]

/** Attacks on the members that W3C credentials have. */
export const w3cCredentialAttacks: readonly Attack[] = [
  {
    attack: 'The credential has expired (validUntil).',
    fails: 'validity.not_expired',
    ...w3c((at) => ({ validUntil: iso(at - HOUR) })),
  },
  {
    attack: 'The credential has expired (expirationDate).',
    fails: 'validity.not_expired',
    ...w3c((at) => ({ expirationDate: iso(at - HOUR) })),
  },
  {
    attack: 'The expiry is garbage (validUntil).',
    fails: 'validity.not_expired',
    ...w3c(() => ({ validUntil: 'soon' })),
  },
  {
    attack: 'The expiry is a day that does not exist (validUntil).',
    fails: 'validity.not_expired',
    ...w3c(() => ({ validUntil: '2999-02-30T00:00:00Z' })),
  },
  {
    attack: 'The expiry has no time zone (validUntil).',
    fails: 'validity.not_expired',
    ...w3c(() => ({ validUntil: '2999-01-01T00:00:00' })),
  },
  {
    attack: 'The expiry is a number (validUntil).',
    fails: 'validity.not_expired',
    ...w3c((at) => ({ validUntil: at + HOUR })),
  },
  {
    attack: 'The credential is not valid yet (validFrom).',
    fails: 'validity.not_before',
    ...w3c((at) => ({ validFrom: iso(at + HOUR) })),
  },
  {
    attack: 'The credential is not valid yet (issuanceDate).',
    fails: 'validity.not_before',
    ...w3c((at) => ({ issuanceDate: iso(at + HOUR) })),
  },
  {
    attack: 'The beginning is garbage (validFrom).',
    fails: 'validity.not_before',
    ...w3c(() => ({ validFrom: 'now' })),
  },
  {
    attack: 'The credential has a status of the W3C.',
    fails: 'status.valid',
    ...w3c(() => ({ credentialStatus: { type: 'BitstringStatusListEntry' } })),
  },
  { attack: 'The credential has the type of an SD-JWT VC.', fails: 'query.format', ...type('dc+sd-jwt') },
  {
    attack: 'The credential is of another type than was asked for.',
    fails: 'query.type',
    ...w3c(() => ({ type: ['VerifiableCredential', 'LibraryCard'] })),
  },
  {
    attack: 'The credential has only one of the two types that were asked for.',
    fails: 'query.type',
    ...w3c(() => ({ type: 'VerifiableCredential' })),
  },
  { attack: 'The credential has no context.', fails: 'query.format', ...without('@context') },
  {
    attack: 'The context of the credential is another vocabulary.',
    fails: 'query.format',
    ...w3c(() => ({ '@context': ['https://example.org'] })),
  },
  {
    attack: 'Another vocabulary stands before the context of the data model.',
    fails: 'query.format',
    ...w3c(() => ({ '@context': ['https://example.org', VCDM_2_CONTEXT, VCDM_1_CONTEXT] })),
  },
  {
    attack: 'The context of the credential is a number.',
    fails: 'query.format',
    ...w3c(() => ({ '@context': 2 })),
  },
  { attack: 'The credential has no type of its data model.', ...anyType, fails: 'query.format', ...without('type') },
  {
    attack: 'The credential does not say that it is one.',
    ...anyType,
    fails: 'query.format',
    ...w3c(() => ({ type: ['StudentCard'] })),
  },
  {
    attack: 'The credential is a presentation.',
    ...anyType,
    fails: 'query.format',
    ...w3c(() => ({ type: ['VerifiablePresentation'] })),
  },
  { attack: 'The credential is about nobody.', ...anything, fails: 'query.format', ...subject(undefined) },
  { attack: 'The subject of the credential is a text.', ...anything, fails: 'query.format', ...subject('Ada') },
  { attack: 'The subject of the credential is empty.', ...anything, fails: 'query.format', ...subject({}) },
  { attack: 'The list of subjects is empty.', ...anything, fails: 'query.format', ...subject([]) },
  {
    attack: 'One of the subjects of the credential is empty.',
    ...anything,
    fails: 'query.format',
    ...subject([{ given_name: 'Ada' }, {}]),
  },
  {
    attack: 'The issuer in the credential is an object that names nobody.',
    fails: 'query.format',
    ...w3c(() => ({ issuer: { name: 'Example University' } })),
  },
]

/** Attacks on W3C credentials as SD-JWT, which share their type with SD-JWT VCs of the old name. */
export const w3cSdJwtAttacks: readonly Attack[] = [
  {
    attack: 'The credential is an SD-JWT VC of the old name.',
    fails: 'query.format',
    ...payload(() => ({ vct: 'urn:card' })),
  },
  {
    attack: 'The credential names its issuer in iss alone, as the data model does not.',
    fails: 'query.format',
    ...without('issuer'),
  },
]

export const sdJwtVcAttacks: readonly Attack[] = [
  {
    attack: 'The SD-JWT VC has the type of the old name, and the context of a W3C credential.',
    fails: 'query.format',
    change({ header, payload }) {
      header.typ = 'vc+sd-jwt'
      payload['@context'] = ['https://www.w3.org/ns/credentials/v2']
    },
  },
  {
    attack: 'The key that the credential is bound to is one for encryption.',
    fails: 'holder.binding',
    notRun: after.binding,
    change({ payload }) {
      const { jwk } = payload.cnf as { jwk: JsonObject }
      payload.cnf = { jwk: { ...jwk, use: 'enc' } }
    },
  },
  {
    attack: 'The SD-JWT VC does not say what it is (vct).',
    ...anyType,
    fails: 'query.format',
    change: ({ payload }) => void Reflect.deleteProperty(payload, 'vct'),
  },
  {
    attack: 'The type of the SD-JWT VC is not text.',
    ...anyType,
    fails: 'query.format',
    ...payload(() => ({ vct: ['urn:example:student-card'] })),
  },
  {
    attack: 'The SD-JWT VC is of another type than was asked for.',
    fails: 'query.type',
    ...payload(() => ({ vct: 'urn:example:library-card' })),
  },
  {
    attack: 'The type of the SD-JWT VC begins with the one that was asked for.',
    fails: 'query.type',
    ...payload(() => ({ vct: 'urn:example:student-card:expired' })),
  },
  {
    attack: 'The SD-JWT VC is of another type, and none of its other names was asked for.',
    fails: 'query.type',
    ...payload(() => ({
      vct: 'urn:example:library-card',
      aka_vcts: ['urn:example:card', ['urn:example:student-card']],
    })),
  },
  {
    attack: 'The SD-JWT VC says what it is in the member of a W3C credential.',
    fails: 'query.type',
    ...payload(() => ({ vct: 'urn:example:card', type: ['urn:example:student-card'] })),
  },
  {
    attack: 'The name of the issuer is null.',
    fails: 'issuer.identifier',
    ...payload(() => ({ iss: null })),
  },
]

export const w3cJwtAttacks: readonly Attack[] = [
  {
    attack: 'The JWT has its credential at the root and not in vc.',
    ...anything,
    fails: 'query.format',
    change(forgery) {
      const { vc } = forgery.payload
      Reflect.deleteProperty(forgery.payload, 'vc')
      Object.assign(forgery.payload, vc)
    },
  },
  {
    attack: 'The credential in vc is an array.',
    ...anything,
    fails: 'query.format',
    change({ payload }) {
      payload.vc = [payload.vc ?? null]
    },
  },
  {
    attack: 'The credential has the type of a W3C credential as SD-JWT.',
    fails: 'query.format',
    ...type('vc+sd-jwt'),
  },
  {
    attack: 'The JWT has expired, and the credential in it has not.',
    fails: 'validity.not_expired',
    change(forgery, world) {
      forgery.payload.exp = secondsOf(world) - HOUR
      w3cOf(forgery).expirationDate = iso(secondsOf(world) + HOUR)
    },
  },
  {
    attack: 'The claim that was asked for is in the JWT, and not in the credential.',
    fails: 'query.claims',
    notRun: after.claims,
    change(forgery) {
      forgery.payload.credentialSubject = { ...subjectOf(forgery) }
      Reflect.deleteProperty(subjectOf(forgery), 'given_name')
    },
  },
]
