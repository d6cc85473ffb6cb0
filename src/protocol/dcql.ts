/**
 * The Digital Credentials Query Language: the type of a query, and a parser that reports all mistakes. `dcql-match.ts`
 * matches credentials. OpenID4VP 1.0, Digital Credentials Query Language (DCQL).
 */
import { isObject, type Json, type JsonObject, memberOf } from '../codec/json.ts'
import { isClaimPath, isIndex } from './claim-path.ts'
import { type ClaimPath, MAX_STEPS } from './claim-path-text.ts'
import { findAuthorityMistakes, type TrustedAuthoritiesQuery } from './dcql-authorities.ts'
import {
  findBooleanMistakes,
  findLengthMistakes,
  findListMistakes,
  findTextMistakes,
  ID_PATTERN,
  MAX_LIST_ELEMENTS,
  type Mistakes,
} from './dcql-parts.ts'
import { refuse } from './error.ts'

export interface ClaimQuery {
  readonly id?: string
  readonly path: ClaimPath
  readonly values?: readonly (string | number | boolean)[]
  /** Whether the verifier keeps an element of an mdoc for longer than it needs to verify it. */
  readonly intent_to_retain?: boolean
}

export interface CredentialQuery {
  readonly id: string
  readonly format: string
  readonly meta: JsonObject
  readonly claims?: readonly ClaimQuery[]
  /** The claim ids of each claim set, in order of preference. */
  readonly claim_sets?: readonly (readonly string[])[]
  /** Whether several credentials may be returned; false when absent. */
  readonly multiple?: boolean
  /** Whether holder binding is required; true when absent. */
  readonly require_cryptographic_holder_binding?: boolean
  /** The authorities of which at least one must match. */
  readonly trusted_authorities?: readonly TrustedAuthoritiesQuery[]
}

export interface CredentialSetQuery {
  /** The credential query ids of each option. One option must be satisfied. */
  readonly options: readonly (readonly string[])[]
  /** Whether the set must be satisfied; true when absent. */
  readonly required?: boolean
}

export interface DcqlQuery {
  readonly credentials: readonly CredentialQuery[]
  readonly credential_sets?: readonly CredentialSetQuery[]
}

const ID = new RegExp(ID_PATTERN)
const MAX_MISTAKES = 10

/** Returns the mistakes in a credential query beyond its form, mainly for its format. */
type CredentialRule = (credential: JsonObject, at: string) => Mistakes

/**
 * Validates a query, with the additional `rule`, and returns it unchanged. Refuses with `invalid_request` and the path
 * of each mistake.
 */
export function readDcqlQuery(value: unknown, rule: CredentialRule = findFormatMistakes): DcqlQuery {
  const mistakes: string[] = []
  for (const mistake of findFormMistakes(value as Json, 'dcql_query', rule)) {
    if (mistakes.push(mistake) === MAX_MISTAKES) break
  }
  if (mistakes.length > 0) refuse('invalid_request', mistakes.join('; '))
  return value as DcqlQuery
}

function* findFormatMistakes(credential: JsonObject, at: string): Mistakes {
  yield* findTextMistakes(memberOf(credential, 'format'), `${at}.format`)
}

function* findFormMistakes(query: Json | undefined, at: string, rule: CredentialRule): Mistakes {
  if (!isObject(query)) return yield `${at}: must be an object`
  const credentials = memberOf(query, 'credentials')
  yield* findListMistakes(credentials, `${at}.credentials`, (each, eachAt) =>
    findCredentialMistakes(each, eachAt, rule),
  )
  yield* findIdMistakes(credentials, `${at}.credentials`)
  const sets = memberOf(query, 'credential_sets')
  if (sets === undefined) return
  const ids = new Set(idsOf(credentials))
  yield* findListMistakes(sets, `${at}.credential_sets`, (set, setAt) => findCredentialSetMistakes(set, setAt, ids))
}

// OpenID4VP 1.0, Credential Query
function* findCredentialMistakes(credential: Json | undefined, at: string, rule: CredentialRule): Mistakes {
  if (!isObject(credential)) return yield `${at}: must be an object`
  if (memberOf(credential, 'id') === undefined) yield `${at}.id: is required`
  yield* rule(credential, at)
  if (!isObject(memberOf(credential, 'meta'))) yield `${at}.meta: must be an object; it may be empty`
  yield* findBooleanMistakes(credential, 'multiple', at)
  yield* findBooleanMistakes(credential, 'require_cryptographic_holder_binding', at)
  const authorities = memberOf(credential, 'trusted_authorities')
  if (authorities !== undefined) yield* findAuthorityMistakes(authorities, `${at}.trusted_authorities`)
  const claims = memberOf(credential, 'claims')
  const sets = memberOf(credential, 'claim_sets')
  if (claims !== undefined) {
    yield* findListMistakes(claims, `${at}.claims`, (claim, claimAt) =>
      findClaimMistakes(claim, claimAt, sets !== undefined),
    )
    yield* findIdMistakes(claims, `${at}.claims`)
    yield* findRepeatedClaims(claims, `${at}.claims`)
  }
  if (sets !== undefined) yield* findClaimSetMistakes(sets, `${at}.claim_sets`, claims)
}

// OpenID4VP 1.0, Claims Query
function* findClaimMistakes(claim: Json | undefined, at: string, idRequired: boolean): Mistakes {
  if (!isObject(claim)) return yield `${at}: must be an object`
  if (idRequired && memberOf(claim, 'id') === undefined) yield `${at}.id: is required, because there are claim_sets`
  const path = memberOf(claim, 'path')
  yield* findListMistakes(path, `${at}.path`, findStepMistakes, MAX_STEPS)
  const values = memberOf(claim, 'values')
  if (values !== undefined) yield* findListMistakes(values, `${at}.values`, findValueMistakes)
}

function* findStepMistakes(step: Json | undefined, at: string): Mistakes {
  if (typeof step === 'string') yield* findLengthMistakes(step, at)
  else if (step !== null && !isIndex(step)) yield `${at}: must be a string, null or a non-negative integer`
}

function* findValueMistakes(value: Json | undefined, at: string): Mistakes {
  if (typeof value === 'string') yield* findLengthMistakes(value, at)
  // Numbers beyond 2^53 are not exact, so a match would prove nothing.
  else if (typeof value !== 'boolean' && !Number.isSafeInteger(value)) {
    yield `${at}: must be a string, an integer below 2^53 or a boolean`
  }
}

// OpenID4VP 1.0, Credential Query: the same claim must not be requested twice.
function* findRepeatedClaims(claims: Json, at: string): Mistakes {
  const isSamePath = (a: ClaimQuery, b: ClaimQuery) =>
    a.path.length === b.path.length && a.path.every((step, i) => step === b.path[i])
  for (const [later, earlier] of claimPairs(readableClaims(claims), isSamePath)) {
    yield `${at}[${later}].path: addresses the same claim as ${at}[${earlier}]; ask for it once`
  }
}

/**
 * Returns the claims with a valid path, at their index; undefined for the others, whose mistakes are reported
 * elsewhere.
 */
export function readableClaims(claims: Json | undefined): readonly (ClaimQuery | undefined)[] {
  return (Array.isArray(claims) ? claims.slice(0, MAX_LIST_ELEMENTS) : []).map((claim) => {
    const path = memberOf(claim, 'path')
    const readable = isClaimPath(path) && path.length <= MAX_STEPS
    return readable ? (claim as unknown as ClaimQuery) : undefined
  })
}

/** Returns, for each claim, the first earlier claim for which `isPair` returns true, by their indices. */
export function claimPairs(
  claims: readonly (ClaimQuery | undefined)[],
  isPair: (claim: ClaimQuery, earlier: ClaimQuery) => boolean,
): readonly (readonly [later: number, earlier: number])[] {
  return claims.flatMap((claim, later) => {
    const earlier = claims.slice(0, later).findIndex((other) => claim && other && isPair(claim, other))
    return earlier === -1 ? [] : [[later, earlier] as const]
  })
}

// OpenID4VP 1.0, Selecting Claims
function* findClaimSetMistakes(sets: Json, at: string, claims: Json | undefined): Mistakes {
  if (claims === undefined) yield `${at}: must not be given without claims`
  const ids = new Set(idsOf(claims))
  yield* findListMistakes(sets, at, (set, setAt) => findReferenceMistakes(set, setAt, ids))
}

// OpenID4VP 1.0, Credential Set Query
function* findCredentialSetMistakes(set: Json | undefined, at: string, ids: ReadonlySet<Json>): Mistakes {
  if (!isObject(set)) return yield `${at}: must be an object`
  yield* findListMistakes(memberOf(set, 'options'), `${at}.options`, (option, optionAt) =>
    findReferenceMistakes(option, optionAt, ids),
  )
  yield* findBooleanMistakes(set, 'required', at)
}

function* findReferenceMistakes(references: Json | undefined, at: string, ids: ReadonlySet<Json>): Mistakes {
  yield* findListMistakes(references, at, function* (reference, referenceAt) {
    if (typeof reference !== 'string' || !ids.has(reference))
      yield `${referenceAt}: must be an id that this query defines`
  })
}

/** Returns the mistakes in ids, which have invalid characters, are too long, or are used twice. */
function* findIdMistakes(list: Json | undefined, at: string): Mistakes {
  if (!Array.isArray(list)) return
  const seenIds = new Set<string>()
  for (const [i, item] of list.slice(0, MAX_LIST_ELEMENTS).entries()) {
    const id = memberOf(item, 'id')
    if (id === undefined) continue
    if (typeof id !== 'string' || !ID.test(id)) {
      yield `${at}[${i}].id: must be a non-empty string of letters, digits, _ and -`
    } else {
      yield* findLengthMistakes(id, `${at}[${i}].id`)
      if (seenIds.has(id)) yield `${at}[${i}].id: is used before; choose another`
      seenIds.add(id)
    }
  }
}

function idsOf(list: Json | undefined): Json[] {
  return (Array.isArray(list) ? list : []).flatMap((item) => memberOf(item, 'id') ?? [])
}
