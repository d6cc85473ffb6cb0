/** Errors that cross between threads: a copy of an Error loses its code, and so its properties go instead. */

export interface ErrorProperties {
  readonly name: string
  readonly message: string
  /** The properties of the error that caused this one. */
  readonly cause?: ErrorProperties
  readonly [more: string]: unknown
}

/** The most causes that cross, of which each may have another. */
const MAX_CAUSES = 4

/** Returns the name, the message and all own properties of an error, such as a code, and the same of its causes. */
export function readErrorProperties(error: unknown, causesLeft = MAX_CAUSES): ErrorProperties {
  const { name, message, cause, ...more } = error as Error
  // Any other value may be one that cannot be sent to another thread.
  const hasCause = cause instanceof Error && causesLeft > 0
  return { ...more, name, message, ...(hasCause && { cause: readErrorProperties(cause, causesLeft - 1) }) }
}

/** Returns an Error with the properties that {@link readErrorProperties} read. */
export function restoreError({ cause, ...properties }: ErrorProperties): Error {
  return Object.assign(new Error('', cause && { cause: restoreError(cause) }), properties)
}
