/**
 * Status lists from other servers, kept for as long as they allow. A second request for a list that is on its way waits
 * for the same answer. Token Status List, Status List Caching; Bitstring Status List 1.0, ttl.
 */
import { singleFlightByKey } from '../../async/single-flight.ts'
import { MalformedError } from '../../codec/malformed.ts'
import { firstEnd } from '../../credential/evidence.ts'
import type { Effects } from '../../http/effects.ts'
import { type Outbound, OutboundError } from '../../http/outbound.ts'
import { readBitstringCredential } from './bitstring.ts'
import type { StatusReference } from './reference.ts'
import { type FetchedStatusList, MAX_LIST_BYTES } from './status-list.ts'
import { readStatusListCwt, readStatusListJwt, TOKEN_TYPES } from './token.ts'

interface Fetched {
  readonly list: FetchedStatusList
  readonly fetchedAt: Date
  readonly answerBytes: number
}

/** The reason for which there is no list: nobody answered, or the answer is no list. */
type NotFound = { readonly unreachable: string } | { readonly problem: string }

/**
 * A list, or the reason why there is none. `keep` says that signature, times and issuer were verified; until then the
 * list is kept for seconds only.
 */
export type FetchResult = (Fetched & { readonly kept: boolean; readonly keep: () => void }) | NotFound

type ListReference = Pick<StatusReference, 'kind' | 'uri'>

export type StatusLists = (reference: ListReference, prefersCwt: boolean) => Promise<FetchResult>

/** The policy for finding the status of a credential, and for a status that cannot be found. */
export interface StatusPolicy {
  readonly loadList: StatusLists
  readonly onUnreachable: 'reject' | 'accept'
  readonly now: () => Date
}

interface Kept {
  readonly result: Fetched | NotFound
  until: number
  readonly bytes: number
}

const TIMEOUT_MS = 5000
/** The time to live of a list that names none. */
const USUAL_TTL_MS = 300_000
const MAX_TTL_MS = 12 * 3_600_000
/** The least time between two questions for a list, and the longest that a list is kept before it is verified. */
const MIN_TTL_MS = 5000
const MAX_KEPT = 1000
const MAX_KEPT_BYTES = 64 * 1024 * 1024
/** The most lists of one response that may fail to be fetched: a wallet waits, and does not wait for long. */
const MAX_UNREACHABLE = 2
/** The time limit for all lists of one response: one that comes slowly counts as well. */
const MAX_WAIT_MS = 15_000

export function statusLists(
  { outbound, now, log }: Pick<Effects<never>, 'outbound' | 'now' | 'log'>,
  allowPrivateAddresses: boolean,
): StatusLists {
  const kept = new Map<string, Kept>()
  const fetchList = singleFlightByKey(
    ({ reference }) => keyOf(reference),
    async ({ reference, prefersCwt }: { readonly reference: ListReference; readonly prefersCwt: boolean }) => {
      const result = await ask(outbound, reference, { prefersCwt, allowPrivateAddresses, now })
      const why = 'list' in result ? undefined : 'problem' in result ? result.problem : result.unreachable
      if (why !== undefined) log.warn({ event: 'status_list_not_usable', why }, 'a status list cannot be used')
      const entry: Kept = { result, until: now().getTime() + MIN_TTL_MS, bytes: bytesOf(result) }
      keepEntry(kept, keyOf(reference), entry)
      return entry
    },
  )
  return async (reference, prefersCwt) => {
    const cached = kept.get(keyOf(reference))
    if (cached !== undefined && now().getTime() < cached.until) return resultIn(cached, true)
    return resultIn(await fetchList({ reference, prefersCwt }), false)
  }
}

function keyOf({ kind, uri }: ListReference): string {
  return `${kind} ${uri}`
}

function resultIn(entry: Kept, kept: boolean): FetchResult {
  const { result } = entry
  if (!('list' in result)) return result
  const keep = (): void => {
    entry.until = result.fetchedAt.getTime() + lifeOf(result)
  }
  return { ...result, kept, keep }
}

/** Returns the policy for one response: after a few lists that did not come, or came slowly, no more are fetched. */
export function forOneResponse({ loadList, onUnreachable, now }: StatusPolicy): StatusPolicy {
  let [unreachable, waitedMs] = [0, 0]
  return {
    onUnreachable,
    now,
    loadList: async (...reference) => {
      if (unreachable >= MAX_UNREACHABLE) return { problem: 'it was not asked for, because others did not come' }
      if (waitedMs >= MAX_WAIT_MS) return { problem: 'it was not asked for, because others came too slowly' }
      const begun = now().getTime()
      const result = await loadList(...reference)
      waitedMs += Math.max(0, now().getTime() - begun)
      if ('unreachable' in result) unreachable += 1
      return result
    },
  }
}

async function ask(
  outbound: Outbound,
  { kind, uri }: ListReference,
  how: { readonly prefersCwt: boolean; readonly allowPrivateAddresses: boolean; readonly now: () => Date },
): Promise<Kept['result']> {
  const { allowPrivateAddresses } = how
  const headers = { accept: acceptOf(kind, how.prefersCwt) }
  try {
    const answer = await outbound({
      url: uri,
      headers,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_LIST_BYTES,
      allowPrivateAddresses,
    })
    if (answer.status !== 200) return { unreachable: `${new URL(uri).host} answered ${answer.status}` }
    const list = await readList(kind, uri, answer)
    return { list, fetchedAt: how.now(), answerBytes: answer.body.length }
  } catch (error) {
    if (error instanceof OutboundError) return { unreachable: error.message }
    if (error instanceof MalformedError) return { problem: error.message }
    throw error
  }
}

function acceptOf(kind: StatusReference['kind'], prefersCwt: boolean): string {
  const { jwt, cwt } = TOKEN_TYPES
  if (kind === 'bitstring') return 'application/vc+jwt, application/jwt;q=0.9, text/plain;q=0.1'
  return prefersCwt ? `${cwt}, ${jwt};q=0.9` : `${jwt}, ${cwt};q=0.9`
}

async function readList(
  kind: StatusReference['kind'],
  uri: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array },
): Promise<FetchedStatusList> {
  const text = (): string => Buffer.from(body).toString('latin1')
  if (kind === 'bitstring') return readBitstringCredential(text(), uri)
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type === TOKEN_TYPES.cwt) return readStatusListCwt(body, uri)
  if (type === TOKEN_TYPES.jwt) return readStatusListJwt(text(), uri)
  throw new MalformedError(`what was answered is neither ${TOKEN_TYPES.jwt} nor ${TOKEN_TYPES.cwt}`)
}

/** Returns for how many milliseconds a list that was verified is kept. */
function lifeOf({ list: { ttlSeconds, validity }, fetchedAt }: Fetched): number {
  const ttl = Math.min(ttlSeconds === undefined ? USUAL_TTL_MS : ttlSeconds * 1000, MAX_TTL_MS)
  const left = (firstEnd(validity)?.getTime() ?? Number.POSITIVE_INFINITY) - fetchedAt.getTime()
  return Math.max(MIN_TTL_MS, Math.min(ttl, left))
}

/** Estimates how much memory a list takes, with what was signed, as it came and as it was read. */
function bytesOf(result: Kept['result']): number {
  return 'list' in result ? result.list.bytes.length + 2 * result.answerBytes : 0
}

/** Keeps an entry; the entries that were fetched longest ago make room. */
function keepEntry(kept: Map<string, Kept>, key: string, entry: Kept): void {
  kept.delete(key)
  kept.set(key, entry)
  let bytes = [...kept.values()].reduce((sum, each) => sum + each.bytes, 0)
  for (const [oldest, each] of kept) {
    if (kept.size <= MAX_KEPT && bytes <= MAX_KEPT_BYTES) return
    kept.delete(oldest)
    bytes -= each.bytes
  }
}
