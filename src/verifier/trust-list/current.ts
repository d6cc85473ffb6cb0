/** The trust lists as they count now: the stored lists, with their certificates as trust anchors. */
import { setImmediate } from 'node:timers/promises'
import { cacheDerived, cacheValue } from '../../async/cache.ts'
import { readOrUndefined } from '../../codec/malformed.ts'
import type { TrustListConfig } from '../../config/trust-lists.ts'
import { type Certificate, parseCertificate } from '../../keys/certificate.ts'
import type { Row, Store } from '../../store/store.ts'
import type { VerifierConfig } from '../config.ts'
import type { TrustList } from './read.ts'
import { isListOver, readStoredList, type TrustListCollections } from './stored.ts'

export interface CurrentTrustList {
  readonly url: string
  /** The credential types that the list is for; undefined for all types. */
  readonly credentialTypes: readonly string[] | undefined
  /** The newest list, which may have ended; undefined if there is none. */
  readonly list: Omit<TrustList, 'certificates'> | undefined
  /** The certificates of the list; empty if it does not count now. */
  readonly anchors: readonly Certificate[]
  /** Why the list does not count now, as part of a sentence; undefined if it does. */
  readonly problem: string | undefined
  /** Why the last fetch gave no list that counts; undefined if it did. */
  readonly fetchProblem: string | undefined
}

/** Returns the lists of the configuration as they count now. */
export type LoadTrustLists = () => Promise<readonly CurrentTrustList[]>

/** A list with its certificates parsed, and what it was made of. */
interface ParsedList {
  /** The version of the row of the list. */
  readonly version: number
  readonly setting: TrustListConfig
  readonly list: CurrentTrustList['list']
  readonly anchors: readonly Certificate[]
  readonly problem: string | undefined
}

/** How long the states are used before they are read again. */
const STATES_MS = 5000
/** The number of certificates that are parsed before other requests are served. */
const SLICE = 100

/** Creates the function that loads the lists. It reads and parses the text of a list once. */
export function createTrustListLoader(
  getConfig: () => Pick<VerifierConfig, 'trustLists' | 'clockSkewSeconds'>,
  { store, now }: { readonly store: Store<TrustListCollections>; readonly now: () => Date },
): LoadTrustLists {
  const parsedLists = new Map<string, ParsedList>()
  const loadList = async (setting: TrustListConfig) => {
    const { url } = setting
    const state = (await store.get('trust_list_state', url))?.value
    const earlier = parsedLists.get(url)
    const isSame = earlier !== undefined && earlier.version === state?.list?.version && earlier.setting === setting
    const parsed = isSame
      ? earlier
      : await parseList(await store.get('trust_list', url), setting, getConfig().clockSkewSeconds)
    if (parsed !== undefined) parsedLists.set(url, parsed)
    return { setting, parsed, fetchProblem: state?.problem }
  }
  // A reload makes new settings, and lists that were loaded by earlier settings no longer count.
  const getLoadedLists = cacheDerived(
    () => getConfig().trustLists,
    (trustLists) => cacheValue(() => Promise.all(trustLists.map(loadList)), { ttlMs: STATES_MS, now }),
  )
  return async () => {
    const { clockSkewSeconds } = getConfig()
    return (await getLoadedLists().get()).map(({ setting: { url, credentialTypes }, parsed, fetchProblem }) => {
      const problem = parsed?.problem ?? findEndProblem(parsed?.list, fetchProblem, now(), clockSkewSeconds)
      const anchors = problem === undefined ? (parsed?.anchors ?? []) : []
      return { url, credentialTypes, list: parsed?.list, anchors, problem, fetchProblem }
    })
  }
}

/** Parses the list of a row; returns undefined if there is none. */
async function parseList(
  row: Row<TrustListCollections['trust_list']> | undefined,
  setting: TrustListConfig,
  clockSkewSeconds: number,
): Promise<ParsedList | undefined> {
  if (row?.value.list === undefined) return undefined
  const { version } = row
  const list = readStoredList(row.value.list, setting, clockSkewSeconds)
  if ('problem' in list) return { version, setting, list: undefined, anchors: [], problem: list.problem }
  const { certificates, ...times } = list
  return { version, setting, list: times, anchors: await parseCertificates(certificates), problem: undefined }
}

/** Parses certificates, without those that cannot be read. Other requests are served meanwhile. */
async function parseCertificates(ders: readonly Buffer[]): Promise<readonly Certificate[]> {
  const certificates: Certificate[] = []
  for (const [index, der] of ders.entries()) {
    if (index % SLICE === SLICE - 1) await setImmediate()
    const certificate = readOrUndefined(() => parseCertificate(der))
    if (certificate !== undefined) certificates.push(certificate)
  }
  return certificates
}

function findEndProblem(
  list: CurrentTrustList['list'],
  fetchProblem: string | undefined,
  now: Date,
  clockSkewSeconds: number,
): string | undefined {
  if (list === undefined) return fetchProblem ?? 'it was not fetched yet'
  if (!isListOver(list.nextUpdate, now, clockSkewSeconds)) return undefined
  const why = fetchProblem === undefined ? '' : `; ${fetchProblem}`
  return `it ended on ${list.nextUpdate.toISOString()} (NextUpdate)${why}`
}
