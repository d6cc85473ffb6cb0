/** Attacks on the response as a whole, and presentations that are none. */
import type { Json } from '../../src/codec/json.ts'
import type { Profile } from '../support/profiles.ts'
import { type Attack, after } from './attack.ts'

const unreadable = { fails: 'presentation.well_formed', notRun: after.reading }
const twoQueries = ({ format }: Profile) => ['card', 'second'].map((id) => ({ id, format, meta: {} }))

/** Replaces the text of the presentation. */
function text(change: (presentation: string) => string): Pick<Attack, 'change'> {
  return {
    change: (forgery) => {
      forgery.afterwards = change
    },
  }
}

export const responseAttacks: readonly Attack[] = [
  {
    attack: 'The wallet answers with no presentation at all under the right id.',
    fails: 'query.count',
    vpToken: () => ({ card: [] }),
  },
  {
    attack: 'The wallet sends two presentations where one was asked for.',
    fails: 'query.count',
    vpToken: (presentation) => ({ card: [presentation, presentation] }),
  },
  {
    attack: 'The wallet sends no presentation where several are welcome.',
    fails: 'query.count',
    query: () => ({ multiple: true }),
    vpToken: () => ({ card: [] }),
  },
  {
    attack: 'The wallet sends a presentation under an id that was not asked for, beside the right one.',
    fails: 'query.complete',
    vpToken: (presentation) => ({ card: [presentation], other: [presentation] }),
  },
  {
    attack: 'The wallet sends an id of the language this runs on.',
    fails: 'query.complete',
    vpToken: (presentation) => ({ card: [presentation], constructor: [presentation] }),
  },
  {
    attack: 'The wallet sends the presentation under another id only.',
    fails: 'query.complete',
    vpToken: (presentation) => ({ Card: [presentation] }),
  },
  {
    attack: 'The wallet answers one of two credential queries.',
    fails: 'query.complete',
    dcql: (profile) => ({ credentials: twoQueries(profile) }),
    vpToken: (presentation) => ({ card: [presentation] }),
  },
  {
    attack: 'The wallet answers half of the only option of a credential set.',
    fails: 'query.complete',
    dcql: (profile) => ({
      credentials: twoQueries(profile),
      credential_sets: [{ options: [['card', 'second']] }],
    }),
    vpToken: (presentation) => ({ card: [presentation] }),
  },
  {
    attack: 'The wallet presents a credential that no option of the credential sets has.',
    fails: 'query.complete',
    dcql: (profile) => ({
      credentials: twoQueries(profile),
      credential_sets: [{ options: [['second']], required: false }],
    }),
    vpToken: (presentation) => ({ card: [presentation] }),
  },
  {
    attack: 'The wallet adds a credential that no option of the credential sets has.',
    fails: 'query.complete',
    dcql: (profile) => ({ credentials: twoQueries(profile), credential_sets: [{ options: [['second']] }] }),
    vpToken: (presentation) => ({ card: [presentation], second: [presentation] }),
  },
  {
    attack: 'The wallet answers half of an option where everything is optional.',
    fails: 'query.complete',
    dcql: (profile) => ({
      credentials: twoQueries(profile),
      credential_sets: [{ options: [['card', 'second']], required: false }],
    }),
    vpToken: (presentation) => ({ card: [presentation] }),
  },
  { attack: 'The wallet presents nothing.', fails: 'query.complete', vpToken: () => ({}) },
  {
    attack: 'The wallet presents nothing where everything is optional.',
    fails: 'query.complete',
    dcql: () => ({ credential_sets: [{ options: [['card']], required: false }] }),
    vpToken: () => ({}),
  },
  { attack: 'The presentation is empty.', ...unreadable, ...text(() => '') },
  { attack: 'The presentation is garbage.', ...unreadable, ...text(() => 'not a presentation') },
  { attack: 'The presentation is JSON.', ...unreadable, ...text(() => '{"payload":"","signatures":[]}') },
  { attack: 'The presentation is a JWE.', ...unreadable, ...text(() => 'eyJhbGciOiJkaXIifQ..AAAA.AAAA.AAAA') },
  {
    attack: 'The presentation is cut off in its key binding.',
    ...unreadable,
    ...text((presentation) => presentation.slice(0, -100)),
  },
  {
    attack: 'The presentation has white space at its end.',
    ...unreadable,
    ...text((presentation) => `${presentation}\n`),
  },
  {
    attack: 'The signature of the key binding is base64url with bits that a decoder drops.',
    ...unreadable,
    // The last of 86 characters has four bits that count.
    ...text(
      (presentation) =>
        presentation.slice(0, -1) + String.fromCharCode(presentation.charCodeAt(presentation.length - 1) + 1),
    ),
  },
  {
    attack: 'The header of the credential names an extension that must be understood.',
    ...unreadable,
    change: ({ header }) => void Object.assign(header, { crit: ['b64'], b64: false }),
  },
  {
    attack: 'The header of the key binding names an extension that must be understood.',
    ...unreadable,
    change: ({ binding }) => void Object.assign(binding?.header ?? {}, { crit: ['exp'] }),
  },
  {
    attack: 'The payload is nested deeper than anybody needs.',
    ...unreadable,
    change: ({ payload }) => {
      payload.deep = JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) as Json
    },
  },
]

/** Attacks on the parts of an SD-JWT. */
export const sdJwtPartAttacks: readonly Attack[] = [
  {
    attack: 'The presentation has lost its credential.',
    ...unreadable,
    ...text((presentation) => presentation.slice(presentation.indexOf('~'))),
  },
  {
    attack: 'There are more disclosures than anybody needs.',
    ...unreadable,
    change: ({ disclosures }) => void disclosures.push(...Array<string>(2001).fill('')),
  },
]

/** Attacks on the content of a VP-JWT. */
export const vpPartAttacks: readonly Attack[] = [
  { attack: 'The presentation has no credential in it.', ...unreadable, ...vp(() => []) },
  { attack: 'The presentation has two credentials in it.', ...unreadable, ...vp((jwt) => [jwt, jwt]) },
  { attack: 'The credential is in an array in an array.', ...unreadable, ...vp((jwt) => [[jwt]]) },
  { attack: 'The credential is an object.', ...unreadable, ...vp((jwt) => [{ jwt }]) },
  { attack: 'The credential is an SD-JWT.', ...unreadable, ...vp((jwt) => [`${jwt}~`]) },
  { attack: 'The credential is cut off.', ...unreadable, ...vp((jwt) => [jwt.slice(0, jwt.lastIndexOf('.'))]) },
  {
    attack: 'The presentation is text.',
    ...unreadable,
    change: (forgery) => {
      forgery.vp = (jwt) => jwt
    },
  },
]

/** Replaces the credentials that are presented. */
function vp(credentials: (jwt: string) => Json): Pick<Attack, 'change'> {
  return {
    change: (forgery) => {
      forgery.vp = (jwt) => ({ type: ['VerifiablePresentation'], verifiableCredential: credentials(jwt) })
    },
  }
}
