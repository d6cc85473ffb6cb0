/**
 * The rows of a trust list: the newest list that was verified, which may have megabytes, and apart from it what is read
 * every few seconds.
 */
import { type Problem, readOrProblem } from '../../codec/malformed.ts'
import type { TrustListConfig } from '../../config/trust-lists.ts'
import type { Store } from '../../store/store.ts'
import { readTrustList, type TrustList } from './read.ts'

/** A list as it was fetched. Its signature is verified again whenever the row is read. */
export interface StoredListText {
  readonly text: string
  /**
   * When the list was fetched, in milliseconds; its signature must have been valid then, and its services must have
   * begun.
   */
  readonly fetchedAt: number
  /** When the list ends, in milliseconds. */
  readonly endsAt: number
}

export interface TrustListState {
  /** The newest list: the version of its row, and when it ends, in milliseconds; absent before the first. */
  readonly list?: { readonly version: number; readonly endsAt: number }
  /** Why the last fetch gave no list that counts, as part of a sentence; absent after one that did. */
  readonly problem?: string
}

export interface TrustListCollections {
  /** The newest list of each URL in `trustLists`; `list` is absent in rows of before there were states. */
  trust_list: { readonly list?: StoredListText }
  /** The state of each URL; absent until the first fetch. Both rows change in one batch. */
  trust_list_state: TrustListState
}

/** Reads a stored list, or returns why it is not one of the setting as it is today. */
export function readStoredList(
  { text, fetchedAt }: StoredListText,
  setting: TrustListConfig,
  clockSkewSeconds: number,
): TrustList | Problem {
  return readOrProblem(() => readTrustList(text, setting, { at: new Date(fetchedAt), clockSkewSeconds }))
}

/** Tests whether a list that ends at a time has ended. */
export function isListOver(endsAt: Date | number, now: Date, clockSkewSeconds: number): boolean {
  return now.getTime() > Number(endsAt) + clockSkewSeconds * 1000
}

/** Returns when the newest list of each URL ends, in milliseconds; undefined for one that was never fetched. */
export async function readListEnds(
  lists: readonly Pick<TrustListConfig, 'url'>[],
  store: Store<TrustListCollections>,
): Promise<ReadonlyMap<string, number | undefined>> {
  const rows = await Promise.all(lists.map(({ url }) => store.get('trust_list_state', url)))
  return new Map(lists.map(({ url }, index) => [url, rows[index]?.value.list?.endsAt]))
}
