/**
 * Presentations that grow, in the formats that are made of JWTs: signed as they should be, whatever has grown in them.
 */
import { toBase64url } from '../../src/codec/base64url.ts'
import { digestOf } from '../../src/codec/digest.ts'
import { isObject, type Json, type JsonObject } from '../../src/codec/json.ts'
import { type Forgery, makeForgery, type World } from '../support/forge.ts'
import type { Profile } from '../support/profiles.ts'
import type { RequestObject } from '../support/wire.ts'
import { grownCertificates } from './cost-certificates.ts'
import { grownJws } from './cost-world.ts'
import { type Growth, grown, grownText, grownValue, writeGrown } from './growth.ts'

const HEADER = ['typ', 'alg', 'kid', 'x5c', 'crit', 'jwk', 'extra'].map((name) => `header.${name}`)
const REGISTERED = ['iss', 'sub', 'aud', 'iat', 'exp', 'nbf', 'jti', 'cnf', 'cnf.jwk', 'cnf.jwk.x', '_sd', '_sd_alg']
const STATUS = ['status', 'status.status_list', 'status.status_list.uri', 'status.status_list.idx']
const OF_VC = ['vct', 'aka_vcts', 'given_name', 'degrees', 'address', 'extra']
const OF_W3C = [
  '@context',
  'type',
  'issuer',
  'issuer.id',
  'id',
  'credentialSubject',
  'credentialSubject.id',
  'credentialStatus',
]
const OF_SUBJECT = ['given_name', 'degrees', 'address', 'extra'].map((name) => `credentialSubject.${name}`)
const TIMES = ['validFrom', 'validUntil', 'issuanceDate', 'expirationDate']
const BINDING = [
  'header.typ',
  'header.kid',
  'header.extra',
  'payload.nonce',
  'payload.aud',
  'payload.iat',
  'payload.exp',
]
const HASHES = [
  'payload.sd_hash',
  'payload.transaction_data_hashes',
  'payload.extra',
  'payload.vp.type',
  'payload.vp.extra',
]

/** Returns the places of a presentation in the format of the profile. */
export function placesOf({ w3c }: Profile): readonly string[] {
  const inside = w3c === undefined ? OF_VC : [...OF_W3C, ...OF_SUBJECT, ...TIMES]
  const claims = [...REGISTERED, ...STATUS, ...inside.map((name) => [...(w3c ?? []), name].join('.'))]
  return [
    ...HEADER,
    ...claims.map((name) => `payload.${name}`),
    ...[...BINDING, ...HASHES].map((name) => `binding.${name}`),
    ...['x5c', 'x5c', 'disclosures', 'disclosures', 'text.start', 'text.middle', 'text.end'],
  ]
}

/**
 * Makes a presentation of the credential of `world` for the request, with other `members` in its payload, in which
 * everything has grown that is to.
 */
export async function grownPresentation(
  world: World,
  request: RequestObject,
  growths: readonly Growth[],
  members: JsonObject = {},
): Promise<string> {
  const forgery = await makeForgery(world, request)
  Object.assign(forgery.payload, members)
  for (const growth of growths) {
    if (growth.place === 'disclosures') discloseMore(forgery, growth)
    if (growth.place === 'x5c')
      forgery.header.x5c = grownCertificates(world, growth).map((der) => der.toString('base64'))
  }
  const header = grown(forgery.header, 'header', growths)
  const jwt = await grownJws(header, grown(forgery.payload, 'payload', growths), forgery.signCredential)
  const text = await withBinding(forgery, jwt, growths)
  return growths.reduce(insertGrowth, text)
}

async function withBinding(
  { disclosures, binding, vp }: Forgery,
  jwt: string,
  growths: readonly Growth[],
): Promise<string> {
  const bound = vp === undefined ? [jwt, ...disclosures, ''].join('~') : jwt
  if (binding === undefined) return bound
  const claims = vp === undefined ? { sd_hash: digestOf(bound) } : { vp: vp(jwt) }
  const parts = { header: binding.header, payload: { ...binding.payload, ...claims } }
  const grownParts = grown(parts, 'binding', growths) as { readonly header: Json; readonly payload: Json }
  const proof = await grownJws(grownParts.header, grownParts.payload, binding.sign)
  return vp === undefined ? bound + proof : proof
}

function insertGrowth(text: string, growth: Growth): string {
  if (growth.place === 'text.start') return grownText(growth) + text
  if (growth.place === 'text.end') return text + grownText(growth)
  if (growth.place !== 'text.middle') return text
  const at = growth.size % (text.length + 1)
  return text.slice(0, at) + grownText(growth) + text.slice(at)
}

/**
 * Adds disclosures of the shape: side by side, one inside of another, for elements of an array, twice, for nothing, or
 * of a large value.
 */
function discloseMore({ payload, disclosures }: Forgery, growth: Growth): void {
  const { shape, size } = growth
  const count = Math.min(size, 4000)
  const add = (...content: Json[]): string => {
    const text = toBase64url(writeGrown(['salt', ...content]))
    disclosures.push(text)
    return digestOf(text)
  }
  const range = Array.from({ length: count }, (_, at) => at)
  const digests = (value: Json): Json[] => (isObject(value) && Array.isArray(value._sd) ? value._sd : [])
  const conceal = (more: Json[]) => Object.assign(payload, { _sd: [...digests(payload), ...more] })
  if (shape === 'list') conceal(range.map((at) => add(`n${at}`, at)))
  else if (shape === 'deep' || shape === 'comb')
    conceal([range.slice(0, 40).reduce((inner, at) => add(`n${at}`, { _sd: [inner] }), add('end', 1))])
  else if (shape === 'grid') Object.assign(payload, { extra: range.map((at) => ({ '...': add(at) })) })
  else if (shape === 'numbers') Object.assign(payload, { _sd: range.map((at) => digestOf(String(at))) })
  else if (shape === 'same') disclosures.push(...Array<string>(count).fill(disclosures[0] ?? ''))
  else if (shape === 'empty') disclosures.push('~'.repeat(size))
  else if (shape === 'known') range.forEach((at) => void add(`n${at}`, at))
  else conceal([add('value', grownValue(growth))])
}
