/** Spans: what is done for a request, step by step, each with its place in a trace. OpenTelemetry, Tracing. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { TraceContext } from '../codec/trace-context.ts'

export type Attributes = Readonly<Record<string, string | number | boolean>>
export type SpanKind = 'internal' | 'server' | 'client'

/** A step of a trace. It has neither keys, tokens, session ids nor claims, and nothing that a wallet chose. */
export interface Span {
  context: TraceContext
  parentId: string | undefined
  name: string
  readonly kind: SpanKind
  /** Milliseconds since the epoch, with a fraction. */
  readonly startedAt: number
  attributes: Attributes
  /** Whether the step failed, by a mistake of this service or of the server that was asked. */
  hasFailed: boolean
  /** How many more spans there may be in this process below the same request; none when the request has ended. */
  readonly below: { left: number }
}

export interface EndedSpan extends Span {
  readonly endedAt: number
}

type Step = Pick<Span, 'name' | 'kind'> & { readonly attributes?: Attributes }

export interface Tracer {
  /** Begins the first span of a trace. */
  begin(kind: SpanKind): Span
  /** Ends the first span of a request, and whatever would still begin below it. */
  end(span: Span): void
  /** Makes a span that has nothing below it a part of a trace that began elsewhere. */
  move(span: Span, parent: TraceContext): void
  /** Runs work as a part of the span. */
  within<T>(span: Span, work: () => T): T
  /** Returns the place in a trace that is being worked for; undefined when there is none. */
  current(): TraceContext | undefined
  /** Runs work as a step of what is being worked for; alone when there is nothing, or its trace is not kept. */
  step<T>(step: Step, work: (span: Span | undefined) => Promise<T>): Promise<T>
  /** Runs work as a step of a trace that began earlier, in this process or elsewhere. */
  stepOf<T>(parent: TraceContext, step: Step, work: (span: Span) => Promise<T>): Promise<T>
}

interface TracerOptions {
  readonly random: (bytes: number) => Uint8Array
  /** Returns the milliseconds since the epoch, with a fraction. */
  readonly clock: () => number
  /** The share of traces that are kept, of those that begin here. */
  readonly sampleRatio: number
  /** Is given each span that is kept. */
  readonly take: (span: EndedSpan) => void
}

/** The most spans below one request: a presentation or a stream may ask for as much work as its limits allow. */
const MOST_BELOW = 200
const ERROR_NAME = /^[A-Za-z]{1,40}$/

export function createTracer(options: TracerOptions): Tracer {
  const { random, sampleRatio } = options
  const running = new AsyncLocalStorage<Span>()
  const newId = (bytes: number): string => Buffer.from(random(bytes)).toString('hex')
  const below = (parent: TraceContext): TraceContext => ({ ...parent, spanId: newId(8) })
  const run = async <T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> => {
    try {
      return await running.run(span, () => work(span))
    } catch (error) {
      failBy(span, error)
      throw error
    } finally {
      keep(span, options)
    }
  }
  return {
    begin: (kind) => {
      const traceId = newId(16)
      const isSampled = isChosen(traceId, sampleRatio)
      return spanOf({ name: kind, kind }, { traceId, spanId: newId(8), isSampled }, undefined, options)
    },
    end: (span) => {
      span.below.left = 0
      keep(span, options)
    },
    move: (span, parent) => void Object.assign(span, { context: below(parent), parentId: parent.spanId }),
    within: (span, work) => running.run(span, work),
    current: () => running.getStore()?.context,
    step: (step, work) => {
      const parent = running.getStore()
      if (parent === undefined || !parent.context.isSampled || parent.below.left <= 0) return work(undefined)
      parent.below.left -= 1
      const { context, below: shared } = parent
      return run({ ...spanOf(step, below(context), context.spanId, options), below: shared }, work)
    },
    stepOf: (parent, step, work) => run(spanOf(step, below(parent), parent.spanId, options), work),
  }
}

function spanOf(
  { name, kind, attributes = {} }: Step,
  context: TraceContext,
  parentId: string | undefined,
  { clock }: TracerOptions,
): Span {
  const below = { left: MOST_BELOW }
  return { context, parentId, name, kind, startedAt: clock(), attributes, hasFailed: false, below }
}

function keep(span: Span, { take, clock }: TracerOptions): void {
  if (span.context.isSampled) take({ ...span, endedAt: clock() })
}

/** Tests whether a trace that begins here is kept. Its id is random, so that every service keeps the same ones. */
function isChosen(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-12), 16) < ratio * 2 ** 48
}

/** Notes that a step failed, by the kind of its error alone: a message may quote what is secret. */
function failBy(span: Span, error: unknown): void {
  const name = error instanceof Error && ERROR_NAME.test(error.name) ? error.name : 'Error'
  span.hasFailed = true
  span.attributes = { 'error.type': name, ...span.attributes }
}
