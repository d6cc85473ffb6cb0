/** The credentials that are issued and presented, one for each format, of which one claim is asked for. */

import { type JsonObject, memberOf } from '../src/codec/json.ts'
import type { CredentialFormat, Order } from '../src/credential/format.ts'
import { formatOf } from '../src/credential/formats.ts'
import type { PublicJwk } from '../src/keys/jwk.ts'
import { configurationOf } from '../test/support/configuration.ts'
import { profiles, queryFor, usualProfile } from '../test/support/profiles.ts'
import { dataset } from '../test/support/wire.ts'
import { BASE_URL } from './workplace.ts'

export interface Case {
  readonly format: string
  readonly configuration: JsonObject
  readonly dataset: JsonObject
  /** The credential query, whose id is `card`. */
  readonly query: JsonObject
  /** The claim that the query asks for. */
  readonly place: readonly string[]
}

const DOCTYPE = 'org.iso.18013.5.1.mDL'
const NAMESPACE = 'org.iso.18013.5.1'
const PORTRAIT_BYTES = 2048

/** The 20 elements are those that ISO/IEC 18013-5, table 5, makes mandatory, and some of its others. */
const licence = {
  family_name: 'Lovelace',
  given_name: 'Ada',
  birth_date: '1985-12-10',
  issue_date: '2026-01-31',
  expiry_date: '2036-01-30',
  issuing_country: 'GB',
  issuing_authority: 'Licensing Authority',
  document_number: 'LOVEL851210A99',
  portrait: Buffer.alloc(PORTRAIT_BYTES, 'portrait').toString('base64'),
  driving_privileges: [
    { vehicle_category_code: 'A', issue_date: '2020-01-31', expiry_date: '2036-01-30' },
    { vehicle_category_code: 'B', issue_date: '2020-01-31', expiry_date: '2036-01-30' },
  ],
  un_distinguishing_sign: 'UK',
  sex: 2,
  height: 167,
  eye_colour: 'brown',
  nationality: 'GB',
  birth_place: 'London',
  resident_city: 'London',
  resident_country: 'GB',
  age_over_18: true,
  age_over_65: false,
}

/** The W3C credential as SD-JWT, which is also what `vc+sd-jwt` is. */
export const usualCase = caseOf(usualProfile)

export const licenceCase: Case = {
  format: 'mso_mdoc',
  configuration: { format: 'mso_mdoc', doctype: DOCTYPE },
  dataset: { [NAMESPACE]: licence },
  query: {
    id: 'card',
    format: 'mso_mdoc',
    meta: { doctype_value: DOCTYPE },
    claims: [{ path: [NAMESPACE, 'given_name'] }],
  },
  place: [NAMESPACE, 'given_name'],
}

export const sdJwtVcCase = caseOf(profileOf('dc+sd-jwt'))

export const cases: readonly Case[] = [usualCase, sdJwtVcCase, caseOf(profileOf('jwt_vc_json')), licenceCase]

export function pluginOf({ format }: Pick<Case, 'format'>): CredentialFormat {
  const plugin = formatOf(format)
  if (plugin === undefined) throw new Error(`there is no format ${format}`)
  return plugin
}

/** Returns the order that the issuer would issue to the key now. */
export function orderOf({ configuration, dataset: caseDataset }: Case, holderKey: PublicJwk): Order {
  const hour = 3_600_000
  const now = Math.floor(Date.now() / hour) * hour
  return {
    configuration: configurationOf(configuration),
    dataset: caseDataset,
    issuer: BASE_URL.issuer,
    holderKey,
    issuedAt: new Date(now),
    expiresAt: new Date(now + 365 * 24 * hour),
  }
}

export function elementCount({ dataset: elements }: Case): number {
  return Object.keys((memberOf(elements, NAMESPACE) ?? {}) as object).length
}

function profileOf(format: string): (typeof profiles)[number] {
  const profile = profiles.find((each) => each.format === format)
  if (profile === undefined) throw new Error(`there is no profile ${format}`)
  return profile
}

function caseOf(profile: (typeof profiles)[number]): Case {
  const { format, configuration, root } = profile
  return { format, configuration, dataset, query: queryFor(profile), place: [...root, 'given_name'] }
}
