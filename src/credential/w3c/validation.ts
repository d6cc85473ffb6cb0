/**
 * Validates configurations and datasets of W3C credentials, and queries for them. OpenID4VCI 1.0, appendix W3C
 * Verifiable Credentials; OpenID4VP 1.0, W3C Verifiable Credentials.
 */
import { countValues, isObject, type Json, type JsonObject, memberOf } from '../../codec/json.ts'
import { MAX_DISCLOSURES } from '../../codec/sd-jwt.ts'
import { parseInternationalUrl } from '../../codec/url.ts'
import type { CredentialConfiguration } from '../../protocol/credential-configuration.ts'
import { readableClaims } from '../../protocol/dcql.ts'
import { findListMistakes, findTextMistakes, type Mistakes } from '../../protocol/dcql-parts.ts'
import { refuse } from '../../protocol/error.ts'
import type { Configuration } from '../format.ts'
import { refuseReservedNames, requireStrings } from '../validation.ts'

/** The members that only configurations of W3C formats have. */
export interface W3cMembers {
  readonly contexts: readonly string[]
  readonly types: readonly string[]
}

/**
 * Parses `credential_definition`, whose `@context` is optional here. Refuses with `invalid_request` a definition
 * without `VerifiableCredential`, and contexts that are not texts.
 */
export function parseDefinition(
  { credential_definition: definition }: CredentialConfiguration,
  needs: string,
): Omit<W3cMembers, 'contexts'> & { readonly contexts: readonly string[] | undefined } {
  if (!isObject(definition)) {
    return refuse('invalid_request', `credential_definition: this format needs it, with ${needs}`)
  }
  const types = requireStrings(memberOf(definition, 'type'), 'credential_definition.type')
  if (!types.includes('VerifiableCredential')) {
    refuse('invalid_request', 'credential_definition.type: it must contain VerifiableCredential')
  }
  const contexts = memberOf(definition, '@context')
  return {
    types,
    contexts: contexts === undefined ? undefined : requireStrings(contexts, 'credential_definition.@context'),
  }
}

const SUBJECT_PATH = 'credential_dataset.credentialSubject'

/**
 * Refuses with `invalid_request` a dataset without `credentialSubject`, with other members, with reserved names, or
 * with more claims than an SD-JWT may have disclosures. The limit holds for plain JWTs too. Refuses a subject without
 * claims, or whose `id` is not a URL. VCDM 2.0, Credential Subject and Identifiers.
 */
export function refuseInvalidW3cDataset(dataset: JsonObject, { formatId }: Configuration): void {
  const subject = memberOf(dataset, 'credentialSubject')
  if (!isObject(subject)) refuseSubject()
  const stray = Object.keys(dataset).find((name) => name !== 'credentialSubject')
  if (stray !== undefined) {
    refuse(
      'invalid_request',
      `credential_dataset.${stray}: the format ${formatId} takes credentialSubject and nothing else`,
    )
  }
  if (Object.keys(subject).length === 0) refuseSubject()
  const id = memberOf(subject, 'id')
  if (
    id !== undefined &&
    (typeof id !== 'string' || /[\s\p{Cc}]/u.test(id) || parseInternationalUrl(id) === undefined)
  ) {
    refuse('invalid_request', `${SUBJECT_PATH}.id: it must be a URL, such as did:example:1 or https://example.org/1`)
  }
  refuseReservedNames(subject, SUBJECT_PATH)
  if (countValues(subject) > MAX_DISCLOSURES)
    refuse('invalid_request', `${SUBJECT_PATH}: it holds more than ${MAX_DISCLOSURES} claims`)
}

function refuseSubject(): never {
  return refuse('invalid_request', `${SUBJECT_PATH}: it must be an object with the claims of the subject`)
}

/**
 * Returns mistakes in `meta` and in the claims of a query. OpenID4VP 1.0, W3C Verifiable Credentials, Parameters in the
 * `meta` parameter in Credential Query.
 */
export function* findW3cQueryMistakes(query: JsonObject, at: string): Mistakes {
  yield* findTypeMistakes(memberOf(query, 'meta'), `${at}.meta`)
  yield* findW3cClaimMistakes(query, at)
}

function* findTypeMistakes(meta: Json | undefined, at: string): Mistakes {
  if (!isObject(meta)) return
  const types = memberOf(meta, 'type_values')
  if (types !== undefined)
    yield* findListMistakes(types, `${at}.type_values`, (set, setAt) => findListMistakes(set, setAt, findTextMistakes))
}

/** The JWT claims, each with the member of the credential that has the same meaning. */
const JWT_CLAIMS = new Map([
  ['iss', 'ask for issuer'],
  ['sub', 'ask for id in credentialSubject'],
  ['jti', 'ask for id'],
  ['iat', 'ask for validFrom'],
  ['nbf', 'ask for validFrom'],
  ['exp', 'ask for validUntil'],
  ['status', 'it is looked at anyway'],
  ['cnf', 'the binding to its holder is verified anyway'],
  ['vc', 'paths begin inside vc, so leave it out'],
])

const TEXTS: readonly unknown[] = ['id', 'validFrom', 'validUntil', 'issuanceDate', 'expirationDate']

/**
 * Returns mistakes in the claims of a query, as sentences that begin with the path: claims that a W3C credential cannot
 * have. VCDM 2.0, Verifiable Credentials; VC-JOSE-COSE, Securing with JOSE.
 */
function* findW3cClaimMistakes(query: JsonObject, at: string): Mistakes {
  for (const [i, claim] of readableClaims(memberOf(query, 'claims')).entries()) {
    if (claim === undefined) continue
    const [path, values] = [`${at}.claims[${i}].path`, `${at}.claims[${i}].values`]
    const [member] = claim.path
    const instead = typeof member === 'string' ? JWT_CLAIMS.get(member) : undefined
    if (instead !== undefined) yield `${path}[0]: is not a member of a W3C credential; ${instead}`
    if (!Array.isArray(claim.values) || claim.path.length > 1) continue
    if (member === 'credentialSubject') yield `${values}: credentialSubject is an object; ask for a claim inside it`
    if (TEXTS.includes(member) && claim.values.every((value) => typeof value !== 'string'))
      yield `${values}: ${String(member)} is a text, and none of these is one`
  }
}
