/** What every codec throws when bytes are not what they should be. Callers turn it into a refusal or a failed check. */
export class MalformedError extends Error {
  override readonly name = 'MalformedError'
}

/** Throws a {@link MalformedError}; `why` is a sentence part such as `the payload is not JSON`. */
export function malformed(why: string): never {
  throw new MalformedError(why)
}

/** What `read` gives, or undefined where it finds something malformed. */
export function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedError) return undefined
    throw error
  }
}

/** What `read` gives. Where something in it is malformed, the error says in what: `the payload: it is not JSON`. */
export function within<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof MalformedError ? new MalformedError(`${what}: ${error.message}`) : error
  }
}
