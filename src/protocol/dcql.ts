/**
 * The Digital Credentials Query Language: what a query may say, and every mistake in one that says something else.
 * OpenID4VP 1.0, Digital Credentials Query Language (DCQL) and Claims Path Pointer. Answers are in `dcql-match.ts`.
 */
import { isObject, type Json, type JsonObject, own, ownString } from '../codec/json.ts'
import { refuse } from './error.ts'

/** One step per element: a member by its name, an array's element by its index, or null for all of its elements. */
export type ClaimPath = readonly (string | number | null)[]

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

type Mistakes = Generator<string, void, undefined>
type Find = (value: Json | undefined, at: string) => Mistakes

/** The formats of a credential query. One is supported when it says what its `meta` may hold. */
const metaOf: ReadonlyMap<string, Find | 'not yet supported'> = new Map<string, Find | 'not yet supported'>([
  ['jwt_vc_json-ld', inW3cMeta],
  ['vc+sd-jwt', inW3cMeta],
  ['jwt_vc_json', 'not yet supported'],
  ['dc+sd-jwt', 'not yet supported'],
  ['mso_mdoc', 'not yet supported'],
])

/** The formats a query may ask for today. */
export const queryFormats: readonly string[] = [...metaOf].flatMap(([id, meta]) => (typeof meta === 'string' ? [] : id))

const MAX_ELEMENTS = 100
const MAX_STEPS = 32
const MAX_CHARACTERS = 1024
const MAX_MISTAKES = 10

/** These members hold digests, and are gone once the disclosures are in their place. RFC 9901, Verification of the SD-JWT. */
const DIGEST_MEMBERS: readonly unknown[] = ['_sd', '_sd_alg', '...']

/** `value`, unchanged, if it is a query that we can ask. Refuses with `invalid_request` and the path of each mistake. */
export function readDcqlQuery(value: unknown): DcqlQuery {
  const mistakes: string[] = []
  for (const mistake of inQuery(value as Json, 'dcql_query')) {
    if (mistakes.push(mistake) === MAX_MISTAKES) break
  }
  if (mistakes.length > 0) refuse('invalid_request', mistakes.join('; '))
  return value as DcqlQuery
}

function* inQuery(query: Json | undefined, at: string): Mistakes {
  if (!isObject(query)) return yield `${at}: must be an object`
  const credentials = own(query, 'credentials')
  yield* inList(credentials, `${at}.credentials`, MAX_ELEMENTS, inCredential)
  yield* inIds(credentials, `${at}.credentials`)
  const sets = own(query, 'credential_sets')
  if (sets === undefined) return
  const ids = new Set(memberOfEach(credentials, 'id'))
  yield* inList(sets, `${at}.credential_sets`, MAX_ELEMENTS, (set, setAt) => inCredentialSet(set, setAt, ids))
}

// OpenID4VP 1.0, Credential Query
function* inCredential(credential: Json | undefined, at: string): Mistakes {
  if (!isObject(credential)) return yield `${at}: must be an object`
  if (own(credential, 'id') === undefined) yield `${at}.id: is required`
  yield* inFormat(credential, at)
  yield* inBoolean(credential, 'multiple', at)
  yield* inBoolean(credential, 'require_cryptographic_holder_binding', at)
  // Dropping the restriction unseen would be worse than refusing it.
  if (Object.hasOwn(credential, 'trusted_authorities'))
    yield `${at}.trusted_authorities: not yet supported; leave it out`
  const claims = own(credential, 'claims')
  const sets = own(credential, 'claim_sets')
  if (claims !== undefined) {
    yield* inList(claims, `${at}.claims`, MAX_ELEMENTS, (claim, claimAt) => inClaim(claim, claimAt, sets !== undefined))
    yield* inIds(claims, `${at}.claims`)
    yield* inPairs(claims, `${at}.claims`, sets === undefined)
  }
  if (sets !== undefined) yield* inClaimSets(sets, `${at}.claim_sets`, claims)
}

function* inFormat(credential: JsonObject, at: string): Mistakes {
  const format = ownString(credential, 'format') ?? ''
  const known = metaOf.get(format)
  const supported = `supported: ${queryFormats.join(', ')}`
  if (known === undefined) yield `${at}.format: must be a known credential format; ${supported}`
  else if (known === 'not yet supported') yield `${at}.format: ${format} is not yet supported; ${supported}`

  const meta = own(credential, 'meta')
  if (!isObject(meta)) yield `${at}.meta: must be an object; it may be empty`
  else if (typeof known === 'function') yield* known(meta, `${at}.meta`)
}

// OpenID4VP 1.0, W3C Verifiable Credentials, Parameters in the `meta` parameter in Credential Query
function* inW3cMeta(meta: Json | undefined, at: string): Mistakes {
  if (!isObject(meta)) return
  // Not unknown members but those of other formats: ignoring them would accept any type without a word.
  for (const foreign of ['vct_values', 'doctype_value']) {
    if (Object.hasOwn(meta, foreign)) yield `${at}.${foreign}: does not go with this format; use type_values`
  }
  const types = own(meta, 'type_values')
  if (types === undefined) return
  yield* inList(types, `${at}.type_values`, MAX_ELEMENTS, (set, setAt) => inList(set, setAt, MAX_ELEMENTS, inType))
}

function* inType(type: Json | undefined, at: string): Mistakes {
  if (typeof type !== 'string' || type === '') yield `${at}: must be a non-empty string`
  else yield* inLength(type, at)
}

// OpenID4VP 1.0, Claims Query
function* inClaim(claim: Json | undefined, at: string, idRequired: boolean): Mistakes {
  if (!isObject(claim)) return yield `${at}: must be an object`
  if (idRequired && own(claim, 'id') === undefined) yield `${at}.id: is required, because there are claim_sets`
  const path = own(claim, 'path')
  yield* inList(path, `${at}.path`, MAX_STEPS, inStep)
  if (Array.isArray(path) && (path[0] === null || typeof path[0] === 'number')) {
    yield `${at}.path[0]: must be a string, since a credential is an object`
  }
  const values = own(claim, 'values')
  if (values !== undefined) yield* inList(values, `${at}.values`, MAX_ELEMENTS, inValue)
}

function* inStep(step: Json | undefined, at: string): Mistakes {
  if (typeof step === 'string') yield* inLength(step, at)
  else if (step !== null && !isIndex(step)) yield `${at}: must be a string, null or a non-negative integer`
  if (DIGEST_MEMBERS.includes(step)) yield `${at}: is a member of SD-JWT itself, never a claim`
}

function* inValue(value: Json | undefined, at: string): Mistakes {
  if (typeof value === 'string') yield* inLength(value, at)
  // Beyond 2^53 two numbers that differ may be read as equal, and a match would mean nothing.
  else if (typeof value !== 'boolean' && !Number.isSafeInteger(value)) {
    yield `${at}: must be a string, an integer below 2^53 or a boolean`
  }
}

/**
 * Claims that one query cannot ask for together: the same twice (OpenID4VP 1.0, Credential Query) and, unless claim sets
 * make them alternatives, two of which any credential lacks one. Each claim is reported once.
 */
function* inPairs(claims: Json, at: string, allWanted: boolean): Mistakes {
  const readable = (Array.isArray(claims) ? claims.slice(0, MAX_ELEMENTS) : []).map(asClaim)
  for (const [i, claim] of readable.entries()) {
    for (const [j, earlier] of readable.slice(0, i).entries()) {
      const clash = claim && earlier && clashOf(claim, earlier)
      if (clash === undefined || (clash === 'contradicts' && !allWanted)) continue
      if (clash === 'repeats') yield `${at}[${i}].path: addresses the same claim as ${at}[${j}]; ask for it once`
      else yield `${at}[${i}].path: contradicts ${at}[${j}], so that no credential can have both; remove one`
      break
    }
  }
}

/** The claim, where its path can be compared; its mistakes are reported elsewhere. */
function asClaim(claim: Json): ClaimQuery | undefined {
  const path = isObject(claim) ? own(claim, 'path') : undefined
  if (!Array.isArray(path) || path.length > MAX_STEPS) return undefined
  const readable = path.every((step) => typeof step === 'string' || step === null || isIndex(step))
  return readable ? (claim as unknown as ClaimQuery) : undefined
}

/** Two paths clash where one wants a member and the other an element, or one a value and the other something inside. */
function clashOf(a: ClaimQuery, b: ClaimQuery): 'repeats' | 'contradicts' | undefined {
  const [short, long] = a.path.length <= b.path.length ? [a, b] : [b, a]
  const fork = short.path.findIndex((step, i) => step !== long.path[i])
  if (fork === -1 && short.path.length === long.path.length) return 'repeats'
  if (fork === -1) return short.values === undefined ? undefined : 'contradicts'
  return (typeof short.path[fork] === 'string') === (typeof long.path[fork] === 'string') ? undefined : 'contradicts'
}

// OpenID4VP 1.0, Selecting Claims
function* inClaimSets(sets: Json, at: string, claims: Json | undefined): Mistakes {
  if (claims === undefined) yield `${at}: must not be given without claims`
  const ids = new Set(memberOfEach(claims, 'id'))
  yield* inList(sets, at, MAX_ELEMENTS, (set, setAt) => inReferences(set, setAt, ids))
}

// OpenID4VP 1.0, Credential Set Query
function* inCredentialSet(set: Json | undefined, at: string, ids: ReadonlySet<Json>): Mistakes {
  if (!isObject(set)) return yield `${at}: must be an object`
  yield* inList(own(set, 'options'), `${at}.options`, MAX_ELEMENTS, (option, optionAt) =>
    inReferences(option, optionAt, ids),
  )
  yield* inBoolean(set, 'required', at)
}

function* inReferences(references: Json | undefined, at: string, ids: ReadonlySet<Json>): Mistakes {
  yield* inList(references, at, MAX_ELEMENTS, function* (reference, referenceAt) {
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

function* inList(list: Json | undefined, at: string, most: number, inElement: Find): Mistakes {
  if (!Array.isArray(list) || list.length === 0) return yield `${at}: must be a non-empty array`
  if (list.length > most) return yield `${at}: has ${list.length} elements; ${most} are allowed`
  for (const [i, element] of list.entries()) yield* inElement(element, `${at}[${i}]`)
}

function* inBoolean(object: JsonObject, name: string, at: string): Mistakes {
  const value = own(object, name)
  if (value !== undefined && typeof value !== 'boolean') yield `${at}.${name}: must be true or false`
}

function* inLength(text: string, at: string): Mistakes {
  if (text.length > MAX_CHARACTERS) yield `${at}: has ${text.length} characters; ${MAX_CHARACTERS} are allowed`
}

function isIndex(step: unknown): step is number {
  return Number.isInteger(step) && (step as number) >= 0
}

function memberOfEach(list: Json | undefined, name: string): Json[] {
  return (Array.isArray(list) ? list : []).flatMap((item) => (isObject(item) ? (own(item, name) ?? []) : []))
}
