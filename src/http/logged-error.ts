/** Describes errors for the log, without their messages, which may contain keys, claims or tokens. */
import { MalformedError } from '../codec/malformed.ts'
import { openSslReason } from '../codec/openssl-reason.ts'

export interface LoggedError {
  readonly name: string
  readonly code?: string
  /** The reason from OpenSSL, which is from a fixed list. */
  readonly reason?: string
  readonly stack?: string
  readonly cause?: LoggedError
  /** The errors in an AggregateError. */
  readonly errors?: readonly LoggedError[]
}

const CODE = /^[A-Z][A-Z0-9_]{2,60}$/
/** The form of error names that are logged. */
const NAME = /^[A-Za-z]{1,40}$/
/** The maximum number of logged causes. */
const MAX_CAUSES = 4

/** Describes an unexpected error: its kind, its stack without the message, and its causes. */
export function describeErrorForLog(error: unknown, causesLeft = MAX_CAUSES): LoggedError {
  const { cause } = error instanceof Error ? error : {}
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : []
  const stack = framesOf(error)
  const describeInner = (inner: unknown): LoggedError => describeErrorForLog(inner, causesLeft - 1)
  return {
    ...describeCauseForLog(error),
    ...(stack === '' ? {} : { stack }),
    ...(cause === undefined || causesLeft === 0 ? {} : { cause: describeInner(cause) }),
    ...(errors.length === 0 || causesLeft === 0 ? {} : { errors: errors.slice(0, MAX_CAUSES).map(describeInner) }),
  }
}

/** Describes the library error that caused a refusal: its kind, and the reason from OpenSSL. */
export function describeCauseForLog(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { name: typeof error }
  const { name, code } = error as Error & { readonly code?: unknown }
  const reason = openSslReason(error)
  return {
    name: NAME.test(name) ? name : 'Error',
    ...(typeof code === 'string' && CODE.test(code) ? { code } : {}),
    ...(reason === undefined ? {} : { reason }),
  }
}

/**
 * Describes the cause of a refusal: a library error behind malformed input, or the message of another error of this
 * project.
 */
export function describeRefusalForLog({ cause }: Error): LoggedError | string | undefined {
  if (!(cause instanceof MalformedError)) return cause instanceof Error ? cause.message : undefined
  return cause.cause === undefined ? undefined : describeCauseForLog(cause.cause)
}

/** Describes the cause of the cause of a refusal, if the latter is an error of this project. */
export function describeErrorBehindRefusal({ cause }: Error): LoggedError | undefined {
  const isOurs = cause instanceof Error && !(cause instanceof MalformedError)
  return isOurs && cause.cause !== undefined ? describeErrorForLog(cause.cause) : undefined
}

/** Returns the stack without the message. */
function framesOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { stack = '', message } = error
  const frames = stack.slice(Math.max(0, stack.indexOf(message)) + message.length)
  return frames
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
    .join('\n')
}
