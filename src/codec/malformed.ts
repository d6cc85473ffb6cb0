/**
 * The error for malformed input, which all codecs throw. Callers convert it to a refusal or a failed check. `cause` is
 * the error of a library, for the log.
 */
export class MalformedError extends Error {
  override readonly name = 'MalformedError'
}

/**
 * Throws a {@link MalformedError}. `why` is part of a sentence, such as `the payload is not JSON`; `cause` is the error
 * of a library.
 */
export function malformed(why: string, cause?: unknown): never {
  throw new MalformedError(why, cause === undefined ? undefined : { cause })
}

/** Returns the result of `read`; undefined if it throws a MalformedError. */
export function readOrUndefined<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedError) return undefined
    throw error
  }
}

/** Returns the result of `read`, or that of `handle` if `read` throws a MalformedError. */
export function readOrElse<T>(read: () => T, handle: (error: MalformedError) => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedError) return handle(error)
    throw error
  }
}

/** Why there is no result, as part of a sentence. */
export interface Problem {
  readonly problem: string
  /** The error of a library, for the log; absent if there is none. */
  readonly cause?: unknown
}

/** Returns the result of `read`, or a problem if it throws a MalformedError. */
export function readOrProblem<T>(read: () => T): T | Problem {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    const { message: problem, cause } = error
    return cause === undefined ? { problem } : { problem, cause }
  }
}

/**
 * Returns the result of `read`. Prefixes the message of a MalformedError with `what`: `the payload: the text is not
 * JSON`.
 */
export function readPart<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedError) return malformed(`${what}: ${error.message}`, error.cause)
    throw error
  }
}
