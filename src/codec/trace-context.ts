/** The trace headers of W3C Trace Context. */

/** The parent of further spans in a trace. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits, not all zero. */
  readonly spanId: string
  /** Whether the spans of the trace are recorded. */
  readonly isSampled: boolean
  /** The caller's `tracestate`, which is passed on unchanged; absent if there is none or it is invalid. */
  readonly state?: string
}

/** The trace headers. */
export interface TraceHeaders {
  readonly traceparent: string
  readonly tracestate?: string
}

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]{0,200})?$/
const SAMPLED_FLAG = 1
const MAX_STATE_LENGTH = 512
const MAX_STATE_MEMBERS = 32
const STATE_MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/**
 * Parses the trace headers. Returns undefined unless `traceparent` is valid. Drops an invalid `tracestate`, or one
 * longer than 512 characters. W3C Trace Context, sections 3.2 and 3.3.
 */
export function readTraceHeaders(traceparent: unknown, tracestate?: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, version, traceId, spanId, flags = '', more] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  // Version 00 ends with the flags; later versions may have more fields, which are ignored.
  if (version === '00' && more !== undefined) return undefined
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED_FLAG) === SAMPLED_FLAG
  return { traceId, spanId, isSampled, ...(isTraceState(tracestate) ? { state: tracestate } : {}) }
}

/** Makes the trace headers. */
export function traceHeadersOf({ traceId, spanId, isSampled, state }: TraceContext): TraceHeaders {
  const traceparent = `00-${traceId}-${spanId}-0${isSampled ? SAMPLED_FLAG : 0}`
  return state === undefined ? { traceparent } : { traceparent, tracestate: state }
}

function isTraceState(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > MAX_STATE_LENGTH) return false
  const members = text.split(',').map((member) => member.trim())
  return members.length <= MAX_STATE_MEMBERS && members.every((member) => STATE_MEMBER.test(member))
}
