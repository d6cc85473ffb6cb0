/** Makes spans, the steps of a request, each with its trace and its parent. OpenTelemetry, Tracing. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { TraceContext } from '../codec/trace-context.ts'

export type Attributes = Readonly<Record<string, string | number | boolean>>
export type SpanKind = 'internal' | 'server' | 'client'

/** A step of a trace. A span must not contain keys, tokens, session ids or claims, nor text that a wallet chose. */
export interface Span {
  context: TraceContext
  parentId: string | undefined
  name: string
  readonly kind: SpanKind
  /** Milliseconds since the epoch, with a fraction. */
  readonly startedAt: number
  attributes: Attributes
  /** Whether the step failed by an error of this service, or of the server that it called. */
  hasFailed: boolean
  /** The number of spans that may still begin below the span of the request; 0 when the request has ended. */
  readonly descendants: { left: number }
}

export interface EndedSpan extends Span {
  readonly endedAt: number
}

type Step = Pick<Span, 'name' | 'kind'> & { readonly attributes?: Attributes }

export interface Tracer {
  /** Begins the first span of a new trace. */
  beginTrace(kind: SpanKind): Span
  /** Ends the first span of a request. No more spans can begin below it. */
  endTrace(span: Span): void
  /** Makes a span the child of a span in another process; the span must not have children yet. */
  joinTrace(span: Span, parent: TraceContext): void
  /** Runs `work` with `span` as the current span. */
  runInSpan<T>(span: Span, work: () => T): T
  /** Returns the ids of the current trace and span; undefined when there is none. */
  getCurrentContext(): TraceContext | undefined
  /**
   * Runs `work` in a new span below the current span. Runs it without a span outside of spans, when the trace is not
   * sampled, or when the request has too many spans.
   */
  runStep<T>(step: Step, work: (span: Span | undefined) => Promise<T>): Promise<T>
  /** Runs `work` in a new span below `parent`, a span that began earlier or in another process. */
  runStepOf<T>(parent: TraceContext, step: Step, work: (span: Span) => Promise<T>): Promise<T>
}

interface TracerOptions {
  readonly random: (bytes: number) => Uint8Array
  /** Returns the milliseconds since the epoch, with a fraction. */
  readonly clock: () => number
  /** The fraction of the traces begun in this process that are sampled, from 0 to 1. */
  readonly sampleRatio: number
  /** Called with each sampled span when it ends. */
  readonly onSpanEnd: (span: EndedSpan) => void
}

/** The most spans below the span of one request; a presentation or a stream may have many steps. */
const MAX_DESCENDANTS = 200
const ERROR_NAME = /^[A-Za-z]{1,40}$/

/** Makes the tracer of a process. The current span follows the asynchronous calls of `work`. */
export function createTracer(options: TracerOptions): Tracer {
  const { random, sampleRatio } = options
  const activeSpan = new AsyncLocalStorage<Span>()
  const newId = (bytes: number): string => Buffer.from(random(bytes)).toString('hex')
  const childContext = (parent: TraceContext): TraceContext => ({ ...parent, spanId: newId(8) })
  const runWithin = async <T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> => {
    try {
      return await activeSpan.run(span, () => work(span))
    } catch (error) {
      recordFailure(span, error)
      throw error
    } finally {
      exportSpan(span, options)
    }
  }
  return {
    beginTrace: (kind) => {
      const traceId = newId(16)
      const isSampled = isSampledTrace(traceId, sampleRatio)
      return spanOf({ name: kind, kind }, { traceId, spanId: newId(8), isSampled }, undefined, options)
    },
    endTrace: (span) => {
      span.descendants.left = 0
      exportSpan(span, options)
    },
    joinTrace: (span, parent) => void Object.assign(span, { context: childContext(parent), parentId: parent.spanId }),
    runInSpan: (span, work) => activeSpan.run(span, work),
    getCurrentContext: () => activeSpan.getStore()?.context,
    runStep: (step, work) => {
      const parent = activeSpan.getStore()
      if (parent === undefined || !parent.context.isSampled || parent.descendants.left <= 0) return work(undefined)
      parent.descendants.left -= 1
      const { context, descendants } = parent
      return runWithin({ ...spanOf(step, childContext(context), context.spanId, options), descendants }, work)
    },
    runStepOf: (parent, step, work) => runWithin(spanOf(step, childContext(parent), parent.spanId, options), work),
  }
}

function spanOf(
  { name, kind, attributes = {} }: Step,
  context: TraceContext,
  parentId: string | undefined,
  { clock }: TracerOptions,
): Span {
  const descendants = { left: MAX_DESCENDANTS }
  return { context, parentId, name, kind, startedAt: clock(), attributes, hasFailed: false, descendants }
}

function exportSpan(span: Span, { onSpanEnd, clock }: TracerOptions): void {
  if (span.context.isSampled) onSpanEnd({ ...span, endedAt: clock() })
}

/** Tests whether a new trace is sampled. The random id decides, so that every service samples the same traces. */
function isSampledTrace(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-12), 16) < ratio * 2 ** 48
}

/** Records a failed step with the name of its error, without the message, which may quote a secret. */
function recordFailure(span: Span, error: unknown): void {
  const name = error instanceof Error && ERROR_NAME.test(error.name) ? error.name : 'Error'
  span.hasFailed = true
  span.attributes = { 'error.type': name, ...span.attributes }
}
