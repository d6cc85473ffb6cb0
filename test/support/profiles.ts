/**
 * The same credential in every format that is made of JWTs, with the differences between them, for tests that run for
 * each.
 */
import type { JsonObject } from '../../src/codec/json.ts'
import { configuration, dataset } from './wire.ts'

export interface Profile {
  readonly format: string
  readonly configuration: JsonObject
  /** The `meta` of a query for the type of the configuration. */
  readonly meta: JsonObject
  /** The position of the claims of the dataset, for a query. */
  readonly root: readonly string[]
  /** The position of the claims in the payload of the JWT. */
  readonly inPayload: readonly string[]
  /** The position of the members of a W3C credential in the payload; undefined where it is none. */
  readonly w3c: readonly string[] | undefined
  /** Tells an SD-JWT from a JWT in a VP-JWT. */
  readonly sdJwt: boolean
}

const type_values = [['VerifiableCredential', 'StudentCard']]

const w3cSdJwt: Profile = {
  format: 'jwt_vc_json-ld',
  configuration,
  meta: { type_values },
  root: ['credentialSubject'],
  inPayload: ['credentialSubject'],
  w3c: [],
  sdJwt: true,
}

const sdJwtVc: Profile = {
  format: 'dc+sd-jwt',
  configuration: { format: 'dc+sd-jwt', vct: 'urn:example:student-card' },
  meta: { vct_values: ['urn:example:student-card'] },
  root: [],
  inPayload: [],
  w3c: undefined,
  sdJwt: true,
}

const w3cJwt: Profile = {
  format: 'jwt_vc_json',
  configuration: { format: 'jwt_vc_json', credential_definition: { type: ['VerifiableCredential', 'StudentCard'] } },
  meta: { type_values },
  root: ['credentialSubject'],
  inPayload: ['vc', 'credentialSubject'],
  w3c: ['vc'],
  sdJwt: false,
}

export const usualProfile = w3cSdJwt

export const profiles: readonly Profile[] = [
  w3cSdJwt,
  { ...w3cSdJwt, format: 'vc+sd-jwt', configuration: { ...configuration, format: 'vc+sd-jwt' } },
  sdJwtVc,
  w3cJwt,
]

/** Makes the credential query that the usual credential of the profile answers. */
export function queryFor({ format, meta, root }: Profile) {
  return { id: 'card', format, meta, claims: [{ path: [...root, 'given_name'] }] }
}

/** Returns every claim of the usual dataset that a forged presentation shows. */
export function shownPlaces({ root }: Profile) {
  return Object.keys(dataset.credentialSubject)
    .filter((name) => name !== 'address')
    .map((name) => [...root, name])
}
