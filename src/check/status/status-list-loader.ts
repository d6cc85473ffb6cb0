/**
 * Loads status lists from other servers, and caches each for its ttl. Concurrent requests for a list share one
 * response. Lists that credentials name are fetched again before that time is over, so that the servers do not learn
 * when credentials are shown. Token Status List, Status List Caching; Bitstring Status List 1.0, ttl; EUDI VCR_15.
 */
import { drawFraction } from '../../async/back-off.ts'
import { createLru, type Lru } from '../../async/cache.ts'
import { singleFlightByKey } from '../../async/single-flight.ts'
import { earliestEnd } from '../../credential/evidence.ts'
import type { Effects } from '../../http/effects.ts'
import {
  type FetchFailure,
  type ListReference,
  type ListRequest,
  type ListResponse,
  type ListType,
  requestList,
} from './status-list-request.ts'
import type { FetchedStatusList } from './status-list-token.ts'

/**
 * Returns why a list cannot take the place of the last one, which was verified; undefined if it can. An older list can
 * when the last one `isExpired`: the processes of an issuer may each sign the same list at another time.
 */
export type FindSuccessorProblem = (
  next: FetchedStatusList,
  last: FetchedStatusList,
  at: { readonly now: Date; readonly isExpired: boolean },
) => string | undefined

/**
 * A list, or why it could not be loaded. The caller calls `markVerified` after it has verified signature, times and
 * issuer; until then the list is cached for a few seconds only, and not fetched again by itself.
 */
export type FetchResult =
  | (ListResponse & {
      readonly isCached: boolean
      readonly markVerified: (findSuccessorProblem: FindSuccessorProblem) => void
    })
  | FetchFailure

export type LoadStatusList = (reference: ListReference, listType: ListType) => Promise<FetchResult>

/** The status lists of other servers. */
export interface StatusLists {
  readonly loadList: LoadStatusList
  /** Fetches one list again, if one is due. */
  readonly refreshList: () => Promise<void>
}

/** How status lists are loaded, and what happens if a list cannot be loaded. */
export interface StatusPolicy {
  readonly loadList: LoadStatusList
  readonly onUnreachable: 'reject' | 'accept'
}

interface CachedResult extends ListRequest {
  readonly result: ListResponse | FetchFailure
  /** The time of the request. A result from the future, after the clock was set back, is not used. */
  readonly at: number
  until: number
  /** When the list is fetched again; undefined if it is not. */
  refresh?: Refresh | undefined
}

interface Refresh {
  readonly list: FetchedStatusList
  /** The time when a credential last named the list. */
  lastUsedAt: number
  dueAt: number
  readonly findSuccessorProblem: FindSuccessorProblem
}

/** The ttl of a list that does not have one. */
const USUAL_TTL_MS = 300_000
const MAX_TTL_MS = 12 * 3_600_000
/** The minimum time between two requests for a list, and the cache time of a list that is not verified yet. */
const MIN_TTL_MS = 5000
/** How long a list is fetched again by itself after a credential named it. */
const REFRESHED_AFTER_USE_MS = 24 * 3_600_000
/** The number of lists that are fetched again by themselves: those that were named last. */
const MAX_REFRESHED = 100
/** The minimum ttl of a list that is fetched again by itself. */
const MIN_REFRESHED_TTL_MS = 60_000
/** The minimum time between two requests that fetch a list again by themselves. */
const MIN_REFRESH_PAUSE_MS = 30_000
/** The part of the remaining time of a list after which it is fetched again, and how much larger chance makes it. */
const REFRESH_AFTER = 0.8
const REFRESH_JITTER = 0.15
const MAX_CACHED_BYTES = 64 * 1024 * 1024
/** The minimum size of a cache entry, which limits the cache to about a thousand entries. */
const MIN_ENTRY_BYTES = MAX_CACHED_BYTES / 1024
/**
 * The maximum number of unreachable lists of one response, since the wallet waits meanwhile: as many as one credential
 * of our issuer names (`"status": "bitstring"`).
 */
const MAX_UNREACHABLE = 3
const AFTER_UNREACHABLE = `it was not fetched, because ${MAX_UNREACHABLE} status lists of this response could not be fetched`
/** The time limit for loading all lists of one response. */
const MAX_WAIT_MS = 15_000
const AFTER_WAIT = `it was not fetched, because the other status lists of this response took ${MAX_WAIT_MS / 1000} seconds`

type ListEffects = Pick<Effects<never>, 'outbound' | 'now' | 'random' | 'log'>

/** Creates the lists, none of which is loaded yet. `allowPrivateAddresses` allows lists in private networks. */
export function createStatusLists(effects: ListEffects, allowPrivateAddresses: boolean): StatusLists {
  const { now, log } = effects
  const cache = createLru<string, CachedResult>(MAX_CACHED_BYTES, ({ result }) => bytesOf(result))
  const fetchList = singleFlightByKey(
    ({ reference }) => keyOf(reference),
    async (request: ListRequest) => {
      const result = await requestList(request, effects, allowPrivateAddresses)
      if (!('list' in result)) {
        const why = failureText(result)
        log.warn({ event: 'status_list_not_usable', why }, 'a status list cannot be used')
      }
      const at = now().getTime()
      const entry: CachedResult = { ...request, result, at, until: at + MIN_TTL_MS }
      cache.set(keyOf(request.reference), entry)
      return entry
    },
  )
  return {
    loadList: async ({ kind, uri }, listType) => {
      // The rest of the reference is about one credential, and is not cached.
      const reference = { kind, uri }
      const cachedResult = cache.get(keyOf(reference))
      const at = now().getTime()
      if (cachedResult !== undefined && at >= cachedResult.at && at < cachedResult.until)
        return fetchResultOf(cachedResult, true, effects)
      return fetchResultOf(await fetchList({ reference, listType }), false, effects)
    },
    refreshList: () => refreshDueList(cache, effects, allowPrivateAddresses),
  }
}

/**
 * Fetches the list again that is due, if any. What is fetched takes the place of the cached list; if it cannot, the
 * cached list is used until its end, and then no longer fetched again.
 */
async function refreshDueList(
  cache: Lru<string, CachedResult>,
  effects: ListEffects,
  allowPrivateAddresses: boolean,
): Promise<void> {
  const { now, log } = effects
  const due = findDueRefresh(cache.values(), now().getTime())
  if (due === undefined) return
  const { entry, refresh } = due
  // A request that throws is repeated like one that fails.
  refresh.dueAt = drawRefreshTime(entry.until, effects)
  const result = await requestList(entry, effects, allowPrivateAddresses)
  const at = now()
  const isExpired = at.getTime() >= entry.until
  const why =
    'list' in result
      ? refresh.findSuccessorProblem(result.list, refresh.list, { now: at, isExpired })
      : failureText(result)
  if ('list' in result && why === undefined) {
    const { list } = result
    const until = endOf(result)
    const nextRefresh = isRefreshed(list) ? { ...refresh, list, dueAt: drawRefreshTime(until, effects) } : undefined
    const key = keyOf(entry.reference)
    // Meanwhile a credential may have had the list loaded anew.
    if (cache.get(key) === entry) cache.set(key, { ...entry, result, at: at.getTime(), until, refresh: nextRefresh })
    return
  }
  const text = 'a status list was not fetched again; the last one is used until its end'
  log.warn({ event: 'status_list_not_usable', why }, text)
  if (isExpired) entry.refresh = undefined
}

function keyOf({ kind, uri }: ListReference): string {
  return `${kind} ${uri}`
}

function failureText(failure: FetchFailure): string {
  return 'problem' in failure ? failure.problem : failure.unreachable
}

function fetchResultOf(
  entry: CachedResult,
  isCached: boolean,
  effects: Pick<Effects<never>, 'now' | 'random'>,
): FetchResult {
  const { result } = entry
  if (!('list' in result)) return result
  const markVerified = (findSuccessorProblem: FindSuccessorProblem): void => {
    entry.until = endOf(result)
    const { list } = result
    const lastUsedAt = effects.now().getTime()
    if (entry.refresh !== undefined) entry.refresh.lastUsedAt = lastUsedAt
    else if (isRefreshed(list))
      entry.refresh = { list, lastUsedAt, dueAt: drawRefreshTime(entry.until, effects), findSuccessorProblem }
  }
  return { ...result, isCached, markVerified }
}

/** Returns the list that has been due for the longest time, of those that are fetched again; undefined if none is. */
function findDueRefresh(
  entries: readonly CachedResult[],
  at: number,
): { readonly entry: CachedResult; readonly refresh: Refresh } | undefined {
  return entries
    .flatMap((entry) => (entry.refresh === undefined ? [] : [{ entry, refresh: entry.refresh }]))
    .filter(({ refresh }) => at - refresh.lastUsedAt < REFRESHED_AFTER_USE_MS)
    .sort((one, other) => other.refresh.lastUsedAt - one.refresh.lastUsedAt)
    .slice(0, MAX_REFRESHED)
    .sort((one, other) => one.refresh.dueAt - other.refresh.dueAt)
    .find(({ refresh }) => at >= refresh.dueAt)
}

/** Draws the time when a list that is used until `until` is fetched again; processes that began together differ. */
function drawRefreshTime(until: number, { now, random }: Pick<Effects<never>, 'now' | 'random'>): number {
  const at = now().getTime()
  const part = REFRESH_AFTER + REFRESH_JITTER * drawFraction(random)
  return at + Math.max(MIN_REFRESH_PAUSE_MS, part * (until - at))
}

/**
 * Returns a policy for one response. It stops loading lists when {@link MAX_UNREACHABLE} lists were unreachable, or
 * after {@link MAX_WAIT_MS}.
 */
export function limitLoadsOfResponse({ loadList, onUnreachable }: StatusPolicy, now: () => Date): StatusPolicy {
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

/** Returns until when a verified list is cached. */
function endOf({ list, fetchedAt }: ListResponse): number {
  const leftMs = (earliestEnd(list.validity)?.getTime() ?? Number.POSITIVE_INFINITY) - fetchedAt.getTime()
  return fetchedAt.getTime() + Math.max(MIN_TTL_MS, Math.min(ttlOf(list), leftMs))
}

/** Tests whether a verified list is fetched again by itself. */
function isRefreshed(list: FetchedStatusList): boolean {
  return ttlOf(list) >= MIN_REFRESHED_TTL_MS
}

function ttlOf({ ttlSeconds }: FetchedStatusList): number {
  return Math.min(ttlSeconds === undefined ? USUAL_TTL_MS : ttlSeconds * 1000, MAX_TTL_MS)
}

/** Estimates the memory size of a cached list. */
function bytesOf(result: CachedResult['result']): number {
  return 'list' in result
    ? Math.max(MIN_ENTRY_BYTES, result.list.memoryBytes + 2 * result.responseBytes)
    : MIN_ENTRY_BYTES
}
