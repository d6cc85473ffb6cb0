/**
 * The task that fetches the trust lists, and stores each that is newer than the one before it. Every process fetches
 * for itself, and all share the rows: none takes a list that is older than the newest that one of them has had.
 */
import { isDeepStrictEqual } from 'node:util'
import { limitConcurrency } from '../../async/concurrency.ts'
import type { Task } from '../../async/task.ts'
import { type Problem, readOrProblem } from '../../codec/malformed.ts'
import type { TrustListConfig } from '../../config/trust-lists.ts'
import type { Effects } from '../../http/effects.ts'
import { type Outbound, OutboundError } from '../../http/outbound.ts'
import { insertOrUpdate, NO_ROW_VERSION } from '../../store/store.ts'
import type { VerifierConfig } from '../config.ts'
import { type ReadingTime, readTrustList, type TrustList } from './read.ts'
import {
  isListOver,
  readStoredList,
  type StoredListText,
  type TrustListCollections,
  type TrustListState,
} from './stored.ts'

/** The maximum size of a list, which is some ten thousand certificates. */
const MAX_BYTES = 8 * 1024 * 1024
const TIMEOUT_MS = 10_000
/** The longest time between two fetches. A list that ends within two hours is fetched at half of its time. */
const EVERY_MS = 3_600_000
/** The shortest time between two fetches, which is that after a failure. */
const RETRY_MS = 60_000
/** The most lists that are fetched at the same time, since each takes memory of its size. */
const MAX_AT_ONCE = 8
/** The media types of a list in use; many servers name none of them. */
const ACCEPT = 'application/jose, application/trustlist+jwt, application/jwt, */*;q=0.1'

/** The part of the configuration that the lists need. */
type ListsConfig = Pick<VerifierConfig, 'trustLists' | 'clockSkewSeconds' | 'status'>
type RefreshEffects = Pick<Effects<TrustListCollections>, 'store' | 'retryOnConflict' | 'outbound' | 'now' | 'log'>

/** Creates the task. Its first round fetches every list. */
export function createTrustListTask(getConfig: () => ListsConfig, effects: RefreshEffects): Task {
  const nextFetches = new Map<string, number>()
  const loggedStates = new Map<string, string>()
  const runLimited = limitConcurrency(MAX_AT_ONCE)
  const refreshIfDue = async (setting: TrustListConfig, config: ListsConfig): Promise<void> => {
    const { url } = setting
    const at = effects.now().getTime()
    const nextFetch = nextFetches.get(url) ?? 0
    // A time that is further away is of a clock that was ahead, and was set back.
    if (at < nextFetch && nextFetch <= at + EVERY_MS) return
    // A fetch that throws, as without a database, is tried again like one that fails.
    nextFetches.set(url, at + RETRY_MS)
    const state = await refreshTrustList(setting, config, effects)
    nextFetches.set(url, nextFetchTime(state, effects.now()))
    const isOver = state.list === undefined || isListOver(state.list.endsAt, effects.now(), config.clockSkewSeconds)
    const stateText = JSON.stringify([isOver, state])
    if (loggedStates.get(url) !== stateText) logState(url, state, isOver, effects)
    loggedStates.set(url, stateText)
  }
  const run = async (): Promise<void> => {
    const config = getConfig()
    const refreshes = config.trustLists.map((setting) => runLimited(() => refreshIfDue(setting, config)))
    for (const result of await Promise.allSettled(refreshes)) if (result.status === 'rejected') throw result.reason
  }
  return { name: 'trust-lists', everyMs: 1000, run }
}

/** Fetches a list and stores the result. Returns the state. */
async function refreshTrustList(
  setting: TrustListConfig,
  config: ListsConfig,
  effects: RefreshEffects,
): Promise<TrustListState> {
  const { store, retryOnConflict, now } = effects
  const { url: id } = setting
  const { allowPrivateAddresses } = config.status
  const answer = await fetchTrustList(effects.outbound, { url: id, allowPrivateAddresses })
  return retryOnConflict<TrustListState>(async () => {
    // The state is read first: then its version tells whether another process has changed either row meanwhile.
    const stateRow = await store.get('trust_list_state', id)
    const row = await store.get('trust_list', id)
    const kept = row?.value.list
    const time = { at: now(), clockSkewSeconds: config.clockSkewSeconds }
    const choice = 'problem' in answer ? answer : chooseList(answer.text, kept, setting, time)
    const list = 'problem' in choice ? kept : choice
    const listChanges =
      list === undefined || list === kept ? [] : [insertOrUpdate('trust_list', row, { id, value: { list } })]
    const version = (row?.version ?? NO_ROW_VERSION) + listChanges.length
    const state: TrustListState = {
      ...(list && { list: { version, endsAt: list.endsAt } }),
      ...('problem' in choice && { problem: choice.problem }),
    }
    if (isDeepStrictEqual(state, stateRow?.value)) return { committed: state }
    const conflict = await store.commit([
      ...listChanges,
      insertOrUpdate('trust_list_state', stateRow, { id, value: state }),
    ])
    return conflict === undefined ? { committed: state } : { conflict }
  })
}

/** Fetches the text of a list, which is not verified yet, or returns why there is none. */
export async function fetchTrustList(
  outbound: Outbound,
  request: { readonly url: string; readonly allowPrivateAddresses: boolean; readonly timeoutMs?: number },
): Promise<{ readonly text: string } | Problem> {
  try {
    const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }
    const { status, body } = await outbound({ headers: { accept: ACCEPT }, ...limits, ...request })
    if (status !== 200) return { problem: `${new URL(request.url).host} answered ${status}` }
    return { text: Buffer.from(body).toString('latin1').trim() }
  } catch (error) {
    if (error instanceof OutboundError) return { problem: error.message }
    throw error
  }
}

/** Returns the list that was fetched; the kept one where that is the same; or why the kept one stays. */
function chooseList(
  text: string,
  kept: StoredListText | undefined,
  setting: TrustListConfig,
  time: ReadingTime,
): StoredListText | Problem {
  const newList = readOrProblem(() => readTrustList(text, setting, time))
  if ('problem' in newList) return newList
  const keptList = readKeptList(kept, setting, time.clockSkewSeconds)
  const problem = endProblem(newList, time) ?? ageProblem(newList, keptList)
  if (problem !== undefined) return { problem }
  // Services may have begun since the list was stored, though it stays the same.
  const hasMore = keptList !== undefined && newList.certificates.length > keptList.certificates.length
  if (keptList !== undefined && kept?.text === text && !hasMore) return kept
  return { text, fetchedAt: time.at.getTime(), endsAt: newList.nextUpdate.getTime() }
}

/** Reads the kept list; undefined if no signer of today signed it, since it says nothing about another then. */
export function readKeptList(
  kept: StoredListText | undefined,
  setting: TrustListConfig,
  clockSkewSeconds: number,
): TrustList | undefined {
  const list = kept && readStoredList(kept, setting, clockSkewSeconds)
  return list === undefined || 'problem' in list ? undefined : list
}

function endProblem({ nextUpdate }: TrustList, { at, clockSkewSeconds }: ReadingTime): string | undefined {
  return isListOver(nextUpdate, at, clockSkewSeconds)
    ? `the list that was fetched ended on ${nextUpdate.toISOString()} (NextUpdate)`
    : undefined
}

/**
 * Returns why a list does not follow the kept one, if any. TS 119 602 clause 6.3.2: the sequence number grows with each
 * issue.
 */
export function ageProblem(newList: TrustList, keptList: TrustList | undefined): string | undefined {
  if (keptList === undefined) return undefined
  if (newList.sequenceNumber < keptList.sequenceNumber) {
    return `the list that was fetched is number ${newList.sequenceNumber}, and number ${keptList.sequenceNumber} was there before it (LoTESequenceNumber)`
  }
  return newList.issuedAt < keptList.issuedAt
    ? `the list that was fetched is of ${newList.issuedAt.toISOString()}, and one of ${keptList.issuedAt.toISOString()} was there before it (ListIssueDateTime)`
    : undefined
}

function nextFetchTime({ list, problem }: TrustListState, now: Date): number {
  const halfMs = list === undefined || problem !== undefined ? 0 : (list.endsAt - now.getTime()) / 2
  return now.getTime() + Math.max(RETRY_MS, Math.min(halfMs, EVERY_MS))
}

function logState(
  url: string,
  { list, problem: why }: TrustListState,
  isOver: boolean,
  { log }: Pick<RefreshEffects, 'log'>,
): void {
  const line = { list: url, ...(list && { endsAt: new Date(list.endsAt).toISOString() }) }
  if (why === undefined) log.info({ event: 'trust_list_fetched', ...line }, 'a trust list was fetched')
  else if (isOver) log.error({ event: 'trust_list_missing', ...line, why }, 'a trust list gives no anchors')
  else log.warn({ event: 'trust_list_not_fetched', ...line, why }, 'a trust list was not fetched; the last one counts')
}
