/**
 * Loads status lists from other servers, and caches each for its ttl. Concurrent requests for a list share one
 * response. Token Status List, Status List Caching; Bitstring Status List 1.0, ttl.
 */
import { createLru } from '../../async/cache.ts'
import { singleFlightByKey } from '../../async/single-flight.ts'
import { earliestEnd } from '../../credential/evidence.ts'
import type { Effects } from '../../http/effects.ts'
import {
  type FetchedAnswer,
  type FetchFailure,
  type ListReference,
  type ListRequest,
  type ListType,
  requestList,
} from './status-list-request.ts'

/**
 * A list, or why it could not be loaded. The caller calls `markVerified` after it has verified signature, times and
 * issuer; until then the list is cached for a few seconds only.
 */
export type FetchResult =
  | (FetchedAnswer & { readonly isCached: boolean; readonly markVerified: () => void })
  | FetchFailure

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
  effects: Pick<Effects<never>, 'outbound' | 'now' | 'log'>,
  allowPrivateAddresses: boolean,
): LoadStatusList {
  const { now, log } = effects
  const cache = createLru<string, CachedResult>(MAX_CACHED_BYTES, ({ result }) => bytesOf(result))
  const fetchList = singleFlightByKey(
    ({ reference }) => keyOf(reference),
    async (request: ListRequest) => {
      const result = await requestList(request, effects, allowPrivateAddresses)
      const why = 'list' in result ? undefined : 'problem' in result ? result.problem : result.unreachable
      if (why !== undefined) log.warn({ event: 'status_list_not_usable', why }, 'a status list cannot be used')
      const at = now().getTime()
      const entry: CachedResult = { result, at, until: at + MIN_TTL_MS }
      cache.set(keyOf(request.reference), entry)
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
