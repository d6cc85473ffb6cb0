/**
 * The error that every codec throws for malformed input. Callers turn it into a refusal or a failed check; its `cause`,
 * the error of a library, is for the log.
 */
export class MalformedError extends Error {
  override readonly name = 'MalformedError'
}

/**
 * Throws a {@link MalformedError}; `why` is a sentence part such as `the payload is not JSON`, and `cause` the error of
 * a library.
 */
export function malformed(why: string, cause?: unknown): never {
  throw new MalformedError(why, cause === undefined ? undefined : { cause })
}

/** Returns the result of `read`, or undefined when `read` throws a MalformedError. */
export function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedError) return undefined
    throw error
  }
}

/** Returns the result of `read`, or that of `handle` when `read` throws a MalformedError. */
export function orElse<T>(read: () => T, handle: (error: MalformedError) => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedError) return handle(error)
    throw error
  }
}

/** The reason why there is no result, as a sentence part, where a caller has to weigh the reason. */
export interface Problem {
  readonly problem: string
  /** The error of a library, for the log; absent where no library found the problem. */
  readonly cause?: unknown
}

/** Returns the result of `read`, or the problem when `read` throws a MalformedError. */
export function orProblem<T>(read: () => T): T | Problem {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    const { message: problem, cause } = error
    return cause === undefined ? { problem } : { problem, cause }
  }
}

/**
 * Returns the result of `read`, and puts `what` before the message of a MalformedError: `the payload: the text is not
 * JSON`.
 */
export function within<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedError) return malformed(`${what}: ${error.message}`, error.cause)
    throw error
  }
}
