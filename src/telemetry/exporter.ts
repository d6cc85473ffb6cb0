/**
 * Sends items to a collector from a queue of limited size, one request at a time. Adding an item never waits: items
 * that do not fit are dropped and counted.
 */
import { type BackOff, backOffMs } from '../async/back-off.ts'
import { endsWithin } from '../async/timer.ts'
import { memberOf, parseJson } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { type Outbound, OutboundError } from '../http/outbound.ts'
import { createQueue, type Queue } from './queue.ts'

/** The counts of items that were sent to a collector, and of items that were dropped. */
export interface SendingCounts {
  sent: number
  dropped: number
}

export interface Exporter {
  /** Queues an item, a JSON text. */
  add(item: string): void
  readonly counts: Readonly<SendingCounts>
  /** Sends the queued items for at most `withinMs`, and drops the rest. Items that are added later are dropped. */
  close(withinMs: number): Promise<void>
}

/** Reports a failed request to the operator. `cause` is the error, if there was one. */
export type ReportFailure = (why: string, cause: unknown) => void

interface ExporterOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Returns the body of a request with these items. */
  readonly bodyOf: (items: readonly string[]) => string
  /** The member of the answer that has the number of rejected items. OTLP, Partial Success. */
  readonly rejectedMember: 'rejectedSpans' | 'rejectedLogRecords'
  readonly outbound: Outbound
  /** Called at the first of several failures in a row. */
  readonly reportFailure: ReportFailure
}

const MAX_AT_ONCE = 512
const SEND_EVERY_MS = 1000
const TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 64 * 1024
const PAUSE: BackOff = { firstMs: 1000, longestMs: 30_000 }
/** The statuses after which a request is sent again. OTLP, Retryable Response Codes. */
const RETRYABLE: readonly number[] = [429, 502, 503, 504]

interface State {
  readonly counts: SendingCounts
  readonly queue: Queue
  /** The number of requests in a row that failed. */
  failures: number
  isClosed: boolean
}

/**
 * The result of a request: accepted, with a number of rejected items, or failed. A failure that is not final is tried
 * again.
 */
type SendingResult =
  | { readonly rejected: number }
  | { readonly why: string; readonly isFinal: boolean; readonly cause?: unknown }

/** Makes an exporter. It sends the queued items every second, and at once when a full request is queued. */
export function createExporter(options: ExporterOptions): Exporter {
  const state: State = { counts: { sent: 0, dropped: 0 }, queue: createQueue(), failures: 0, isClosed: false }
  const { counts, queue } = state
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  const schedule = (): void => {
    if (state.isClosed || timer !== undefined || sending !== undefined || queue.size() === 0) return
    timer = setTimeout(() => {
      timer = undefined
      sending = send(options, state, TIMEOUT_MS).finally(() => {
        sending = undefined
        schedule()
      })
    }, pauseMs(state)).unref()
  }
  const cancel = (): void => {
    clearTimeout(timer)
    timer = undefined
  }
  return {
    counts,
    add: (item) => {
      if (state.isClosed || !queue.add(item)) {
        counts.dropped += 1
        return
      }
      // When a full request is queued, it is sent at once, unless the collector fails.
      if (queue.size() === MAX_AT_ONCE && state.failures === 0) cancel()
      schedule()
    },
    close: async (withinMs) => {
      const end = performance.now() + withinMs
      const leftMs = (): number => Math.max(0, end - performance.now())
      cancel()
      state.isClosed = true
      if (sending !== undefined) await endsWithin(sending, leftMs())
      await sendRest(options, state, leftMs)
    },
  }
}

/** Sends the queued items until a request fails or the time is over, and drops the rest. */
async function sendRest(options: ExporterOptions, state: State, leftMs: () => number): Promise<void> {
  const { queue, counts, failures: before } = state
  while (queue.size() > 0 && leftMs() > 0 && state.failures === before) await send(options, state, leftMs())
  counts.dropped += queue.clear()
}

/** Returns the pause before the next request: zero when a full request is queued, and growing after failures. */
function pauseMs({ failures, queue }: State): number {
  if (failures > 0) return backOffMs(PAUSE, failures)
  return queue.size() >= MAX_AT_ONCE ? 0 : SEND_EVERY_MS
}

/**
 * Sends one request. Counts its items as sent or dropped, or puts them back into the queue to be sent again. Never
 * rejects.
 */
async function send(options: ExporterOptions, state: State, timeoutMs: number): Promise<void> {
  const { counts, queue } = state
  const items = queue.take(MAX_AT_ONCE)
  const result = await post(options, items, timeoutMs)
  if ('rejected' in result) {
    state.failures = 0
    counts.sent += items.length - result.rejected
    counts.dropped += result.rejected
    return
  }
  state.failures += 1
  if (state.failures === 1) options.reportFailure(result.why, result.cause)
  counts.dropped += result.isFinal || state.isClosed ? items.length : queue.putBack(items)
}

/** Sends items in one request. Never rejects. */
async function post(
  { url, headers, bodyOf, rejectedMember, outbound }: ExporterOptions,
  items: readonly string[],
  timeoutMs: number,
): Promise<SendingResult> {
  try {
    const answer = await outbound({
      url,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: bodyOf(items),
      timeoutMs,
      maxBytes: MAX_ANSWER_BYTES,
      // The address is from the configuration, so an address of the operator's own network is intended.
      allowPrivateAddresses: true,
    })
    const { status, body } = answer
    if (status >= 200 && status < 300) return { rejected: Math.min(items.length, rejectedIn(body, rejectedMember)) }
    return { why: `the collector answered ${status}`, isFinal: !RETRYABLE.includes(status) }
  } catch (error) {
    if (error instanceof OutboundError) return { why: error.message, isFinal: false, cause: error }
    const { name } = error as Error
    const why = `this service failed to make the request (${name}), and drops what was in it`
    return { why, isFinal: true, cause: error }
  }
}

/** Returns the number of items that the collector rejected; 0 when its answer has none. */
function rejectedIn(body: Uint8Array, member: string): number {
  if (body.length === 0) return 0
  try {
    const count = Number(memberOf(memberOf(parseJson(body), 'partialSuccess'), member))
    return Number.isSafeInteger(count) && count > 0 ? count : 0
  } catch (error) {
    if (error instanceof MalformedError) return 0
    throw error
  }
}
