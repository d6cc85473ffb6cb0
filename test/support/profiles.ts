/** The same credential in every format that is made of JWTs: what differs between them, for tests that run for each. */
import type { JsonObject } from '../../src/codec/json.ts'
import { configuration, dataset } from './wire.ts'

export interface Profile {
  readonly format: string
  readonly configuration: JsonObject
  /** Asks for the type of the configuration. */
  readonly meta: JsonObject
  /** Where the claims of the dataset stand, for a query. */
  readonly root: readonly string[]
  /** Where they stand in the payload of the JWT. */
  readonly inPayload: readonly string[]
  /** Where the members of a W3C credential stand in the payload; undefined where it is none. */
  readonly w3c: readonly string[] | undefined
  /** Whether it is an SD-JWT; a JWT in a VP-JWT otherwise. */
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

/** The credential query that the usual credential of the profile answers. */
export function queryFor({ format, meta, root }: Profile) {
  return { id: 'card', format, meta, claims: [{ path: [...root, 'given_name'] }] }
}

/** Every claim of the usual dataset that a forged presentation shows. */
export function shownPlaces({ root }: Profile) {
  return Object.keys(dataset.credentialSubject)
    .filter((name) => name !== 'address')
    .map((name) => [...root, name])
}
