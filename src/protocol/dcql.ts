/**
 * The Digital Credentials Query Language: what a query may say, and every mistake in one that says something else.
 * OpenID4VP 1.0, Digital Credentials Query Language (DCQL). Answers are in `dcql-match.ts`; formats in `credential/`.
 */
import { isObject, type Json, type JsonObject, own } from '../codec/json.ts'
import { type ClaimPath, isClaimPath, isIndex } from './claim-path.ts'
import { inAuthorities, type TrustedAuthoritiesQuery } from './dcql-authorities.ts'
import { inBoolean, inLength, inList, inText, MAX_ELEMENTS, type Mistakes } from './dcql-parts.ts'
import { refuse } from './error.ts'

export interface ClaimQuery {
  readonly id?: string
  readonly path: ClaimPath
  readonly values?: readonly (string | number | boolean)[]
}

export interface CredentialQuery {
  readonly id: string
  readonly format: string
  readonly meta: JsonObject
  readonly claims?: readonly ClaimQuery[]
  /** Ids of claims, the combination we would like best first. */
  readonly claim_sets?: readonly (readonly string[])[]
  /** False when absent. */
  readonly multiple?: boolean
  /** True when absent. */
  readonly require_cryptographic_holder_binding?: boolean
  /** One of them has to fit. */
  readonly trusted_authorities?: readonly TrustedAuthoritiesQuery[]
}

export interface CredentialSetQuery {
  /** Ids of credential queries: one whole option is wanted. */
  readonly options: readonly (readonly string[])[]
  /** True when absent. */
  readonly required?: boolean
}

export interface DcqlQuery {
  readonly credentials: readonly CredentialQuery[]
  readonly credential_sets?: readonly CredentialSetQuery[]
}

const MAX_STEPS = 32
const MAX_MISTAKES = 10

/** What is wrong with a credential query beyond its form: with its format, above all. */
type CredentialRule = (credential: JsonObject, at: string) => Mistakes

/**
 * `value`, unchanged, if it is a query by the specification, and by the `rule` of who is going to ask it. Refuses with
 * `invalid_request` and the path of each mistake.
 */
export function readDcqlQuery(value: unknown, rule: CredentialRule = inAnyFormat): DcqlQuery {
  const mistakes: string[] = []
  for (const mistake of inQuery(value as Json, 'dcql_query', rule)) {
    if (mistakes.push(mistake) === MAX_MISTAKES) break
  }
  if (mistakes.length > 0) refuse('invalid_request', mistakes.join('; '))
  return value as DcqlQuery
}

function* inAnyFormat(credential: JsonObject, at: string): Mistakes {
  yield* inText(own(credential, 'format'), `${at}.format`)
}

function* inQuery(query: Json | undefined, at: string, rule: CredentialRule): Mistakes {
  if (!isObject(query)) return yield `${at}: must be an object`
  const credentials = own(query, 'credentials')
  yield* inList(credentials, `${at}.credentials`, (each, eachAt) => inCredential(each, eachAt, rule))
  yield* inIds(credentials, `${at}.credentials`)
  const sets = own(query, 'credential_sets')
  if (sets === undefined) return
  const ids = new Set(memberOfEach(credentials, 'id'))
  yield* inList(sets, `${at}.credential_sets`, (set, setAt) => inCredentialSet(set, setAt, ids))
}

// OpenID4VP 1.0, Credential Query
function* inCredential(credential: Json | undefined, at: string, rule: CredentialRule): Mistakes {
  if (!isObject(credential)) return yield `${at}: must be an object`
  if (own(credential, 'id') === undefined) yield `${at}.id: is required`
  yield* rule(credential, at)
  if (!isObject(own(credential, 'meta'))) yield `${at}.meta: must be an object; it may be empty`
  yield* inBoolean(credential, 'multiple', at)
  yield* inBoolean(credential, 'require_cryptographic_holder_binding', at)
  const authorities = own(credential, 'trusted_authorities')
  if (authorities !== undefined) yield* inAuthorities(authorities, `${at}.trusted_authorities`)
  const claims = own(credential, 'claims')
  const sets = own(credential, 'claim_sets')
  if (claims !== undefined) {
    yield* inList(claims, `${at}.claims`, (claim, claimAt) => inClaim(claim, claimAt, sets !== undefined))
    yield* inIds(claims, `${at}.claims`)
    yield* inRepeated(claims, `${at}.claims`)
  }
  if (sets !== undefined) yield* inClaimSets(sets, `${at}.claim_sets`, claims)
}

// OpenID4VP 1.0, Claims Query
function* inClaim(claim: Json | undefined, at: string, idRequired: boolean): Mistakes {
  if (!isObject(claim)) return yield `${at}: must be an object`
  if (idRequired && own(claim, 'id') === undefined) yield `${at}.id: is required, because there are claim_sets`
  const path = own(claim, 'path')
  yield* inList(path, `${at}.path`, inStep, MAX_STEPS)
  const values = own(claim, 'values')
  if (values !== undefined) yield* inList(values, `${at}.values`, inValue)
}

function* inStep(step: Json | undefined, at: string): Mistakes {
  if (typeof step === 'string') yield* inLength(step, at)
  else if (step !== null && !isIndex(step)) yield `${at}: must be a string, null or a non-negative integer`
}

function* inValue(value: Json | undefined, at: string): Mistakes {
  if (typeof value === 'string') yield* inLength(value, at)
  // Beyond 2^53 two numbers that differ may be read as equal, and a match would mean nothing.
  else if (typeof value !== 'boolean' && !Number.isSafeInteger(value)) {
    yield `${at}: must be a string, an integer below 2^53 or a boolean`
  }
}

// OpenID4VP 1.0, Credential Query: the same claim must not be asked for twice.
function* inRepeated(claims: Json, at: string): Mistakes {
  const same = (a: ClaimQuery, b: ClaimQuery) =>
    a.path.length === b.path.length && a.path.every((step, i) => step === b.path[i])
  for (const [later, earlier] of claimPairs(readableClaims(claims), same)) {
    yield `${at}[${later}].path: addresses the same claim as ${at}[${earlier}]; ask for it once`
  }
}

/** The claims whose paths can be compared, each at its index; the mistakes of the others are reported elsewhere. */
export function readableClaims(claims: Json | undefined): readonly (ClaimQuery | undefined)[] {
  return (Array.isArray(claims) ? claims.slice(0, MAX_ELEMENTS) : []).map((claim) => {
    const path = isObject(claim) ? own(claim, 'path') : undefined
    const readable = isClaimPath(path) && path.length <= MAX_STEPS
    return readable ? (claim as unknown as ClaimQuery) : undefined
  })
}

/** For each claim the first one before it that `clash` says it does not go with, by their indices. */
export function claimPairs(
  claims: readonly (ClaimQuery | undefined)[],
  clash: (claim: ClaimQuery, earlier: ClaimQuery) => boolean,
): readonly (readonly [later: number, earlier: number])[] {
  return claims.flatMap((claim, later) => {
    const earlier = claims.slice(0, later).findIndex((other) => claim && other && clash(claim, other))
    return earlier === -1 ? [] : [[later, earlier] as const]
  })
}

// OpenID4VP 1.0, Selecting Claims
function* inClaimSets(sets: Json, at: string, claims: Json | undefined): Mistakes {
  if (claims === undefined) yield `${at}: must not be given without claims`
  const ids = new Set(memberOfEach(claims, 'id'))
  yield* inList(sets, at, (set, setAt) => inReferences(set, setAt, ids))
}

// OpenID4VP 1.0, Credential Set Query
function* inCredentialSet(set: Json | undefined, at: string, ids: ReadonlySet<Json>): Mistakes {
  if (!isObject(set)) return yield `${at}: must be an object`
  yield* inList(own(set, 'options'), `${at}.options`, (option, optionAt) => inReferences(option, optionAt, ids))
  yield* inBoolean(set, 'required', at)
}

function* inReferences(references: Json | undefined, at: string, ids: ReadonlySet<Json>): Mistakes {
  yield* inList(references, at, function* (reference, referenceAt) {
    if (typeof reference !== 'string' || !ids.has(reference))
      yield `${referenceAt}: must be an id that this query defines`
  })
}

/** The ids that are given: of the right characters and unique. */
function* inIds(list: Json | undefined, at: string): Mistakes {
  if (!Array.isArray(list)) return
  const seen = new Set<string>()
  for (const [i, item] of list.slice(0, MAX_ELEMENTS).entries()) {
    const id = isObject(item) ? own(item, 'id') : undefined
    if (id === undefined) continue
    if (typeof id !== 'string' || !/^[A-Za-z0-9_-]+$/.test(id)) {
      yield `${at}[${i}].id: must be a non-empty string of letters, digits, _ and -`
    } else {
      yield* inLength(id, `${at}[${i}].id`)
      if (seen.has(id)) yield `${at}[${i}].id: is used before; choose another`
      seen.add(id)
    }
  }
}

function memberOfEach(list: Json | undefined, name: string): Json[] {
  return (Array.isArray(list) ? list : []).flatMap((item) => (isObject(item) ? (own(item, name) ?? []) : []))
}
