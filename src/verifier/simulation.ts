/**
 * Simulates a query: finds which of some credentials match it, and why others do not. Stores nothing, and verifies no
 * signature, trust, validity or status. Reasons have paths, but no claim values. OpenID4VP 1.0, Selecting Claims and
 * Credentials.
 */
import { countValues, type JsonObject } from '../codec/json.ts'
import { readOrProblem } from '../codec/malformed.ts'
import type { CredentialFormat, HeldCredential, TypeMember } from '../credential/format.ts'
import { formatOf, formats, UNKNOWN_FORMAT } from '../credential/formats.ts'
import { claimedAuthorityKeyIds } from '../keys/authority-key-ids.ts'
import type { CredentialQuery, DcqlQuery } from '../protocol/dcql.ts'
import { answersAuthorities } from '../protocol/dcql-authorities.ts'
import { answerableIds, answerClaims, chooseCredentials, isRequired, satisfiedOption } from '../protocol/dcql-match.ts'
import { readOrRefuse, refuse } from '../protocol/error.ts'
import type { VerifierConfig } from './config.ts'
import { readNewQuery } from './queries.ts'
import type { PostedCredential, Simulation, SimulationResult } from './simulation-schemas.ts'

type QueryResult = SimulationResult['credential_queries'][string]
type Match = QueryResult['matches'][number]
type NonMatch = QueryResult['others'][number]

interface Candidate {
  readonly format: CredentialFormat
  /** The posted format identifier, or the first one of the detected format. */
  readonly formatId: string
  readonly types: readonly string[]
  readonly claims: JsonObject
  /** The parsed credential; undefined if the request only describes it. */
  readonly heldCredential: HeldCredential | undefined
}

/** The limit for the size of the query times that of the credentials, in characters. */
const MAX_WORK = 10_000_000
/** The maximum number of claim values to compare: at most 0.2 seconds of work. */
const MAX_COMPARED_VALUES = 300_000

/** The member of a description that has the type, by the format's member for it. */
const DESCRIPTION_MEMBERS = { credential_definition: 'type', vct: 'vct', doctype: 'doctype' } as const satisfies Record<
  TypeMember,
  string
>
const TYPE_MEMBERS = Object.values(DESCRIPTION_MEMBERS)
const CREDENTIAL_MEMBERS: readonly string[] = ['format', 'credential', 'claims', ...TYPE_MEMBERS]

/**
 * Finds which credentials match a query. Refuses with `invalid_request` and the path an invalid query or credential,
 * and with `request_too_large` too much work.
 */
export function simulateQuery(
  { dcql_query: postedQuery, credentials }: Simulation,
  config: Pick<VerifierConfig, 'trustLists'>,
): SimulationResult {
  const query = readNewQuery(postedQuery, config)
  refuseTooMuchText(query, credentials)
  const candidates = credentials.map((credential, i) => readCandidate(credential, `credentials[${i}]`))
  refuseTooManyValues(query, candidates)
  const results = new Map(query.credentials.map((each) => [each.id, resultOf(each, candidates)]))
  const answeredIds = new Set([...results].filter(([, { matches }]) => matches.length > 0).map(([id]) => id))
  const choice = chooseCredentials(query, answeredIds)
  const remarks = [...('problem' in choice ? [choice.problem] : []), ...findUnrequestedParts(query)]
  const sets = query.credential_sets?.map((set) => {
    const option = satisfiedOption(set, answeredIds)
    return { required: isRequired(set), satisfied_by: option === undefined ? null : [...option] }
  })
  return {
    satisfied: 'ids' in choice,
    ...(remarks.length > 0 ? { explanation: remarks.join('; ') } : {}),
    credentials: candidates.map(({ formatId, types }) => ({ format: formatId, type: [...types] })),
    credential_queries: Object.fromEntries(results),
    ...(sets ? { credential_sets: sets } : {}),
  }
}

function refuseTooMuchText(query: DcqlQuery, credentials: Simulation['credentials']): void {
  const characters = JSON.stringify(credentials).length
  if (questionsOf(query) * characters + credentials.length * JSON.stringify(query).length > MAX_WORK) refuseTooMuch()
}

function refuseTooManyValues(query: DcqlQuery, candidates: readonly Candidate[]): void {
  const values = candidates.reduce((count, { claims }) => count + countValues(claims), 0)
  if (questionsOf(query) * values > MAX_COMPARED_VALUES) refuseTooMuch()
}

function questionsOf({ credentials }: DcqlQuery): number {
  return credentials.reduce((count, { claims = [] }) => count + 1 + claims.length, 0)
}

function refuseTooMuch(): never {
  return refuse('request_too_large', 'credentials: too many or too large for this query; send some at a time')
}

function readCandidate(postedCredential: PostedCredential, at: string): Candidate {
  if (typeof postedCredential === 'string') return readUnknownFormat(postedCredential, at)
  const { format: formatId, credential, claims } = postedCredential
  const unknownName = Object.keys(postedCredential).find((name) => !CREDENTIAL_MEMBERS.includes(name))
  if (unknownName !== undefined) refuse('invalid_request', `${at}.${unknownName}: unknown field`)
  const format = formatOf(formatId ?? '')
  if (formatId === undefined || format === undefined) {
    return refuse('invalid_request', `${at}.format: ${UNKNOWN_FORMAT}`)
  }
  if ((credential === undefined) === (claims === undefined)) {
    refuse('invalid_request', `${at}: must have either credential, as issued, or claims, to describe one`)
  }
  if (claims !== undefined)
    return {
      format,
      formatId,
      heldCredential: undefined,
      ...readDescription(format, postedCredential, { claims: claims as JsonObject, at }),
    }
  const heldCredential = readOrRefuse(
    'invalid_request',
    `${at}.credential: is not a credential of the format ${formatId}`,
    () => format.readHeld(credential ?? ''),
  )
  return candidateOf(format, formatId, heldCredential)
}

function candidateOf(format: CredentialFormat, formatId: string, heldCredential: HeldCredential): Candidate {
  return { format, formatId, types: heldCredential.types, claims: heldCredential.claims, heldCredential }
}

/** Parses a credential with the first format that accepts it. Refuses with `invalid_request` if none does. */
function readUnknownFormat(credential: string, at: string): Candidate {
  const problems: string[] = []
  for (const format of formats) {
    const [formatId] = format.ids
    const heldCredential = readOrProblem(() => format.readHeld(credential))
    if (!('problem' in heldCredential)) return candidateOf(format, formatId, heldCredential)
    problems.push(`${formatId}: ${heldCredential.problem}`)
  }
  return refuse('invalid_request', `${at}: is a credential of no format that is supported (${problems.join('; ')})`)
}

function readDescription(
  { typeClaim, typeMember }: CredentialFormat,
  postedCredential: Exclude<PostedCredential, string>,
  { claims, at }: { readonly claims: JsonObject; readonly at: string },
): Pick<Candidate, 'types' | 'claims'> {
  const member = DESCRIPTION_MEMBERS[typeMember]
  for (const name of TYPE_MEMBERS) {
    if (name !== member && postedCredential[name] !== undefined) {
      refuse('invalid_request', `${at}.${name}: does not go with this format; use ${member}`)
    }
  }
  const type = postedCredential[member] ?? (Object.hasOwn(claims, member) ? claims[member] : undefined)
  const types = [type].flat().filter((each) => typeof each === 'string')
  // The type of an mdoc is not an element of it. In the other formats the type is a claim.
  return { types, claims: typeClaim === undefined || type === undefined ? claims : { [member]: type, ...claims } }
}

function resultOf(query: CredentialQuery, candidates: readonly Candidate[]): QueryResult {
  const answers = candidates.map((candidate, credential): Match | NonMatch => {
    const claims = answerClaims(query, candidate.claims)
    const reason = reasonApartFromClaims(query, candidate) ?? claims.missing ?? claims.mismatch
    if (reason !== undefined) return { credential, reason }
    return { credential, discloses: claims.chosen.map(({ path }) => path) }
  })
  return {
    matches: answers.filter((answer) => 'discloses' in answer),
    others: answers.filter((answer) => 'reason' in answer),
  }
}

/** Returns why the credential does not match, apart from its claims; undefined if it does. */
function reasonApartFromClaims(
  query: CredentialQuery,
  { format, formatId, types, claims, heldCredential }: Candidate,
): string | undefined {
  if (!format.ids.includes(query.format)) return `format: it is ${formatId}, and ${query.format} is asked for`
  if (!format.matchesMeta({ types, claims }, query.meta)) return 'meta: it is of none of the types that are asked for'
  if (heldCredential === undefined) {
    return (
      query.trusted_authorities &&
      'trusted_authorities: a description has no certificates; send the credential as issued'
    )
  }
  if (!answersAuthorities(query, claimedAuthorityKeyIds(heldCredential.issuer.chain))) {
    const isForList = query.trusted_authorities?.some(({ type }) => type === 'etsi_tl') === true
    const lists = isForList ? '; a dry run does not look at trust lists' : ''
    return `trusted_authorities: no certificate that it came with names one of these authorities${lists}`
  }
  if (query.require_cryptographic_holder_binding === false || !('problem' in heldCredential.boundKey)) return undefined
  return `require_cryptographic_holder_binding: ${heldCredential.boundKey.problem}`
}

/** Returns the parts of a query that never request anything. They are allowed, but probably mistakes. */
function findUnrequestedParts(query: DcqlQuery): string[] {
  const askedIds = answerableIds(query)
  return query.credentials.flatMap(({ id, claims = [], claim_sets: claimSets }) => {
    const idsInClaimSets = new Set<unknown>(claimSets?.flat() ?? claims.map((claim) => claim.id))
    const unrequestedClaims = claims.flatMap((claim, i) => (idsInClaimSets.has(claim.id) ? [] : [`claims[${i}]`]))
    return [
      ...(askedIds.has(id)
        ? []
        : [`credential query ${id} is in no option of credential_sets, so that nobody is asked for it`]),
      ...(unrequestedClaims.length === 0
        ? []
        : [
            `credential query ${id} has ${unrequestedClaims.join(', ')} in no claim set, so that nobody is asked for them`,
          ]),
    ]
  })
}
