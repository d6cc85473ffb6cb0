/** The credentials and queries of the drivers of the OpenID Foundation's modules, one entry for each format. */
import { isDeepStrictEqual } from 'node:util'
import { decodeCbor, type Tagged } from '../../src/codec/cbor.ts'
import { digestOf } from '../../src/codec/digest.ts'
import { isObject, type Json, type JsonObject, memberOf } from '../../src/codec/json.ts'
import { writeJws } from '../../src/codec/jws.ts'
import { readSdJwt, revealClaims } from '../../src/codec/sd-jwt.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { readIssuerSigned } from '../../src/credential/mso-mdoc/issuer-signed.ts'
import { type PublicJwk, thumbprint } from '../../src/keys/jwk.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { bindingOf, MDL, mdocConfiguration, mdocDataset, mdocQuery } from './mdoc.ts'
import { configuration, dataset, dcqlQuery, type RequestObject } from './wire.ts'

/** The binding of a presentation, and the changes of it by the negative modules. */
export interface Bound {
  readonly request: JsonObject
  readonly now: Date
  /** Members of the key binding that are other than they should be; undefined ones are left out. */
  readonly binding?: Readonly<Record<string, Json | undefined>>
  /** Changes the credential's own signature. */
  readonly forgedCredential?: boolean
  /** Signs the key binding in place of the holder. */
  readonly thief?: Signer
}

export interface DrivenFormat {
  /** The name of the format in a configuration and a query. */
  readonly format: string
  readonly configuration: JsonObject
  readonly dataset: JsonObject
  readonly dcqlQuery: { readonly credentials: readonly JsonObject[] }
  /** Returns the mistakes that the suite finds in a credential of this configuration that was issued to the key. */
  mistakesIn(credential: unknown, holder: PublicJwk, now: Date): readonly string[]
  /** Presents everything in the credential, for the request. */
  present(credential: unknown, holder: Signer, bound: Bound): Promise<string>
  /** Returns the times by which two credentials of one moment could be linked. */
  timesOf(credential: unknown): JsonObject
}

const w3c: DrivenFormat = {
  format: 'jwt_vc_json-ld',
  configuration: { ...configuration, scope: 'student_card' },
  dataset: dataset,
  dcqlQuery: dcqlQuery,
  mistakesIn: (credential, holder, now) => sdJwtMistakes(credential, { typ: 'vc+sd-jwt', holder, now }),
  timesOf: sdJwtTimes,
  present: presentSdJwt,
}

const VCT = 'urn:eudi:pid:1'

const sdJwtVc: DrivenFormat = {
  ...w3c,
  format: 'dc+sd-jwt',
  configuration: {
    format: 'dc+sd-jwt',
    scope: 'pid',
    vct: VCT,
    credential_metadata: {
      display: [{ name: 'Identity', locale: 'en-GB', logo: { uri: 'https://issuer.example/logo.png' } }],
      claims: [{ path: ['given_name'], mandatory: true }, { path: ['nationalities', null] }],
    },
  },
  dataset: { given_name: 'Ada', family_name: 'Lovelace', nationalities: ['GB', 'FR'] },
  dcqlQuery: {
    credentials: [
      {
        id: 'pid',
        format: 'dc+sd-jwt',
        meta: { vct_values: [VCT] },
        claims: [{ path: ['given_name'] }, { path: ['nationalities', null] }],
      },
    ],
  },
  mistakesIn: (credential, holder, now) => sdJwtMistakes(credential, { typ: 'dc+sd-jwt', vct: VCT, holder, now }),
}

const msoMdoc: DrivenFormat = {
  format: 'mso_mdoc',
  configuration: { ...mdocConfiguration, scope: 'licence' },
  dataset: mdocDataset,
  dcqlQuery: mdocQuery,
  mistakesIn: mdocMistakes,
  present: presentMdoc,
  timesOf: (credential) => Object.fromEntries(validityInfoOf(credential)),
}

export const drivenFormats: readonly DrivenFormat[] = [
  sdJwtVc,
  msoMdoc,
  w3c,
  {
    ...w3c,
    format: 'vc+sd-jwt',
    configuration: { ...w3c.configuration, format: 'vc+sd-jwt' },
    dcqlQuery: { credentials: w3c.dcqlQuery.credentials.map((query) => ({ ...query, format: 'vc+sd-jwt' })) },
  },
]

interface ExpectedClaims {
  readonly typ: string
  readonly vct?: string
  readonly holder: PublicJwk
  readonly now: Date
}

function sdJwtMistakes(credential: unknown, { typ, vct, holder, now }: ExpectedClaims): readonly string[] {
  if (typeof credential !== 'string') return ['the credential is not text']
  const { jws, disclosures } = readSdJwt(credential)
  const seconds = Math.floor(now.getTime() / 1000)
  const { iat, exp, nbf, cnf } = jws.payload as Record<string, Json | undefined>
  const bound = memberOf(cnf, 'jwk')
  const salts = disclosures.map((text) => (JSON.parse(Buffer.from(text, 'base64url').toString()) as [string])[0])
  // Throws when a disclosure fits nowhere.
  revealClaims(jws.payload, disclosures)
  return mistakes({
    [`typ is ${typ}`]: jws.header.typ === typ,
    'vct is that of the configuration': vct === undefined || jws.payload.vct === vct,
    'iat is a time, and not in the future': typeof iat === 'number' && iat <= seconds,
    'nbf is not in the future': nbf === undefined || (typeof nbf === 'number' && nbf <= seconds),
    'exp is in the future': typeof exp === 'number' && exp > seconds,
    'cnf.jwk is the key of the proof': isObject(bound) && isDeepStrictEqual({ ...bound }, { ...holder }),
    'cnf.jwk is public': isObject(bound) && !Object.hasOwn(bound, 'd'),
    'every salt is another': new Set(salts).size === salts.length,
    'every salt has 128 bits': salts.every((salt) => Buffer.from(salt, 'base64url').length >= 16),
  })
}

async function presentSdJwt(credential: unknown, holder: Signer, bound: Bound): Promise<string> {
  const text = bound.forgedCredential ? withOtherSignature(String(credential)) : String(credential)
  const { nonce, client_id: audience } = bound.request
  const usual = { iat: Math.floor(bound.now.getTime() / 1000), nonce, aud: audience, sd_hash: digestOf(text) }
  const signer = bound.thief ?? holder
  const header = { typ: 'kb+jwt', alg: holder.alg }
  return text + (await writeJws(header, { ...usual, ...bound.binding } as JsonObject, (data) => signer.sign(data)))
}

function mdocMistakes(credential: unknown, holder: PublicJwk, now: Date): readonly string[] {
  const held = formatOf('mso_mdoc')?.readHeld(String(credential))
  const times = validityInfoOf(credential)
  const [signed = '', from = '', until = ''] = ['signed', 'validFrom', 'validUntil'].map((name) => times.get(name))
  return mistakes({
    'the document type is that of the configuration': held?.types.join() === MDL,
    'the device key is the key of the proof':
      held !== undefined && 'jwk' in held.boundKey && thumbprint(held.boundKey.jwk) === thumbprint(holder),
    'it was signed, and not in the future': signed !== '' && new Date(signed) <= now,
    'it is valid since it was signed, or later': from >= signed && new Date(from) <= now,
    'it is valid for some time': new Date(until) > now,
    'times are of whole seconds, in UTC': [...times.values()].every((time) => /:\d\dZ$/.test(time)),
  })
}

/** Reads the times of the mobile security object as they are written there. */
function validityInfoOf(credential: unknown): ReadonlyMap<string, string> {
  const { validityInfo } = readIssuerSigned(decodeCbor(Buffer.from(String(credential), 'base64url'))).mso
  return new Map([...validityInfo].map(([name, time]) => [String(name), String((time as Tagged).value)]))
}

/** Shows everything; the device signs for the request, or for another nonce. */
async function presentMdoc(credential: unknown, holder: Signer, { request, now, binding }: Bound): Promise<string> {
  const session = bindingOf({ ...request, ...binding } as unknown as RequestObject, now)
  return (await formatOf('mso_mdoc')?.present(String(credential), [[]], session, holder)) ?? ''
}

/** Replaces the first character of the signature, which has no bits that a decoder drops. */
function withOtherSignature(sdJwt: string): string {
  const [jwt = '', ...rest] = sdJwt.split('~')
  const [header = '', payload = '', signature = ''] = jwt.split('.')
  const other = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
  return [[header, payload, other].join('.'), ...rest].join('~')
}

function sdJwtTimes(credential: unknown): JsonObject {
  const { payload } = readSdJwt(String(credential)).jws
  const names = ['iat', 'nbf', 'exp', 'validFrom', 'validUntil', 'issuanceDate', 'expirationDate']
  return Object.fromEntries(Object.entries(payload).filter(([name]) => names.includes(name)))
}

/** Returns the sentences that do not hold. */
export function mistakes(sentences: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.entries(sentences).flatMap(([sentence, holds]) => (holds ? [] : [sentence]))
}

/** Estimates from below, as the suite does: the entropy of the characters, times their number. */
export function shannonBits(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  return [...counts.values()].reduce((bits, count) => bits - count * Math.log2(count / text.length), 0)
}
