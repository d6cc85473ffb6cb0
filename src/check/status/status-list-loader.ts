/**
 * Loads status lists from other servers, and caches each for its ttl. Concurrent requests for a list share one
 * response. Token Status List, Status List Caching; Bitstring Status List 1.0, ttl.
 */
import { createLru } from '../../async/cache.ts'
import { singleFlightByKey } from '../../async/single-flight.ts'
import { MalformedError, type Problem } from '../../codec/malformed.ts'
import { IDENTIFIER_LIST_TYPE, STATUS_LIST_TYPES } from '../../codec/status-list.ts'
import { earliestEnd } from '../../credential/evidence.ts'
import type { CredentialFormat } from '../../credential/format.ts'
import type { Effects } from '../../http/effects.ts'
import { type Outbound, OutboundError } from '../../http/outbound.ts'
import { readBitstringCredential } from './bitstring.ts'
import {
  type FetchedStatusList,
  MAX_LIST_BYTES,
  readIdentifierListCwt,
  readStatusListCwt,
  readStatusListJwt,
} from './status-list-token.ts'
import type { StatusReference } from './status-reference.ts'

interface FetchedAnswer {
  readonly list: FetchedStatusList
  readonly fetchedAt: Date
  readonly answerBytes: number
}

/** Why a list could not be loaded: the server is unreachable, or the response is not a list. */
type FetchFailure = { readonly unreachable: string } | Problem

/**
 * A list, or why it could not be loaded. The caller calls `markVerified` after it has verified signature, times and
 * issuer; until then the list is cached for a few seconds only.
 */
export type FetchResult =
  | (FetchedAnswer & { readonly isCached: boolean; readonly markVerified: () => void })
  | FetchFailure

type ListReference = Pick<StatusReference, 'kind' | 'uri'>

/** The type that is asked for first, where a server has a list in both. */
export type ListType = CredentialFormat['statusListType']

export type LoadStatusList = (reference: ListReference, listType: ListType) => Promise<FetchResult>

/** How status lists are loaded, and what happens if a list cannot be loaded. */
export interface StatusPolicy {
  readonly loadList: LoadStatusList
  readonly onUnreachable: 'reject' | 'accept'
}

interface CachedResult {
  readonly result: FetchedAnswer | FetchFailure
  /** The time of the request. A result from the future, after the clock was set back, is not used. */
  readonly at: number
  until: number
}

const TIMEOUT_MS = 5000
/** The ttl of a list that does not have one. */
const USUAL_TTL_MS = 300_000
const MAX_TTL_MS = 12 * 3_600_000
/** The minimum time between two requests for a list, and the cache time of a list that is not verified yet. */
const MIN_TTL_MS = 5000
const MAX_CACHED_BYTES = 64 * 1024 * 1024
/** The minimum size of a cache entry, which limits the cache to about a thousand entries. */
const MIN_ENTRY_BYTES = MAX_CACHED_BYTES / 1024
/** The maximum number of unreachable lists of one response, since the wallet waits meanwhile. */
const MAX_UNREACHABLE = 2
const AFTER_UNREACHABLE = `it was not fetched, because ${MAX_UNREACHABLE} status lists of this response could not be fetched`
/** The time limit for loading all lists of one response. */
const MAX_WAIT_MS = 15_000
const AFTER_WAIT = `it was not fetched, because the other status lists of this response took ${MAX_WAIT_MS / 1000} seconds`

/**
 * Creates the function that loads and caches status lists. `allowPrivateAddresses` allows lists in private networks.
 */
export function createStatusListLoader(
  { outbound, now, log }: Pick<Effects<never>, 'outbound' | 'now' | 'log'>,
  allowPrivateAddresses: boolean,
): LoadStatusList {
  const cache = createLru<string, CachedResult>(MAX_CACHED_BYTES, ({ result }) => bytesOf(result))
  const fetchList = singleFlightByKey(
    ({ reference }) => keyOf(reference),
    async ({ reference, listType }: { readonly reference: ListReference; readonly listType: ListType }) => {
      const result = await requestList(outbound, reference, { listType, allowPrivateAddresses, now })
      const why = 'list' in result ? undefined : 'problem' in result ? result.problem : result.unreachable
      if (why !== undefined) log.warn({ event: 'status_list_not_usable', why }, 'a status list cannot be used')
      const at = now().getTime()
      const entry: CachedResult = { result, at, until: at + MIN_TTL_MS }
      cache.set(keyOf(reference), entry)
      return entry
    },
  )
  return async (reference, listType) => {
    const cachedResult = cache.get(keyOf(reference))
    const at = now().getTime()
    if (cachedResult !== undefined && at >= cachedResult.at && at < cachedResult.until)
      return fetchResultOf(cachedResult, true)
    return fetchResultOf(await fetchList({ reference, listType }), false)
  }
}

function keyOf({ kind, uri }: ListReference): string {
  return `${kind} ${uri}`
}

function fetchResultOf(entry: CachedResult, isCached: boolean): FetchResult {
  const { result } = entry
  if (!('list' in result)) return result
  const markVerified = (): void => {
    entry.until = result.fetchedAt.getTime() + lifeOf(result)
  }
  return { ...result, isCached, markVerified }
}

/**
 * Returns a policy for one response. It stops loading lists when {@link MAX_UNREACHABLE} lists were unreachable, or
 * after {@link MAX_WAIT_MS}.
 */
export function createPolicyForResponse({ loadList, onUnreachable }: StatusPolicy, now: () => Date): StatusPolicy {
  const unreachableLists = new Map<string, FetchFailure>()
  let waitedMs = 0
  return {
    onUnreachable,
    loadList: async (reference, listType) => {
      const failure = unreachableLists.get(keyOf(reference))
      if (failure !== undefined) return failure
      if (unreachableLists.size >= MAX_UNREACHABLE) return { problem: AFTER_UNREACHABLE }
      if (waitedMs >= MAX_WAIT_MS) return { problem: AFTER_WAIT }
      const startedMs = now().getTime()
      const result = await loadList(reference, listType)
      waitedMs += Math.max(0, now().getTime() - startedMs)
      if ('unreachable' in result) unreachableLists.set(keyOf(reference), result)
      return result
    },
  }
}

async function requestList(
  outbound: Outbound,
  { kind, uri }: ListReference,
  {
    listType,
    allowPrivateAddresses,
    now,
  }: { readonly listType: ListType; readonly allowPrivateAddresses: boolean; readonly now: () => Date },
): Promise<CachedResult['result']> {
  const headers = { accept: acceptOf(kind, listType) }
  try {
    const response = await outbound({
      url: uri,
      headers,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_LIST_BYTES,
      allowPrivateAddresses,
      isHostUntrusted: true,
    })
    if (response.status !== 200) return { unreachable: `${new URL(uri).host} answered ${response.status}` }
    const list = await readList(kind, uri, response)
    return { list, fetchedAt: now(), answerBytes: response.body.length }
  } catch (error) {
    // A server that sends too much is not unreachable.
    if (error instanceof OutboundError && error.limit === 'size') return { problem: error.message }
    if (error instanceof OutboundError) return { unreachable: error.message }
    if (error instanceof MalformedError) return { problem: error.message, cause: error.cause }
    throw error
  }
}

function acceptOf(kind: StatusReference['kind'], listType: ListType): string {
  const { jwt, cwt } = STATUS_LIST_TYPES
  if (kind === 'bitstring') return 'application/vc+jwt, application/jwt;q=0.9, text/plain;q=0.1'
  if (kind === 'identifier list') return IDENTIFIER_LIST_TYPE
  return listType === 'cwt' ? `${cwt}, ${jwt};q=0.9` : `${jwt}, ${cwt};q=0.9`
}

async function readList(
  kind: StatusReference['kind'],
  uri: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array },
): Promise<FetchedStatusList> {
  // A list from a static file may end with a newline.
  const text = (): string => Buffer.from(body).toString('latin1').trimEnd()
  if (kind === 'bitstring') return readBitstringCredential(text(), uri)
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (kind === 'identifier list') {
    if (type === IDENTIFIER_LIST_TYPE) return readIdentifierListCwt(body, uri)
    throw new MalformedError(`what was answered is not ${IDENTIFIER_LIST_TYPE}`)
  }
  if (type === STATUS_LIST_TYPES.cwt) return readStatusListCwt(body, uri)
  if (type === STATUS_LIST_TYPES.jwt) return readStatusListJwt(text(), uri)
  throw new MalformedError(`what was answered is neither ${STATUS_LIST_TYPES.jwt} nor ${STATUS_LIST_TYPES.cwt}`)
}

/** Returns how long a verified list is cached, in milliseconds. */
function lifeOf({ list: { ttlSeconds, validity }, fetchedAt }: FetchedAnswer): number {
  const ttl = Math.min(ttlSeconds === undefined ? USUAL_TTL_MS : ttlSeconds * 1000, MAX_TTL_MS)
  const leftMs = (earliestEnd(validity)?.getTime() ?? Number.POSITIVE_INFINITY) - fetchedAt.getTime()
  return Math.max(MIN_TTL_MS, Math.min(ttl, leftMs))
}

/** Estimates the memory size of a cached list. */
function bytesOf(result: CachedResult['result']): number {
  return 'list' in result
    ? Math.max(MIN_ENTRY_BYTES, result.list.memoryBytes + 2 * result.answerBytes)
    : MIN_ENTRY_BYTES
}
