/**
 * Errors that are sent between threads. A message loses the own properties of an Error, such as its code, so the
 * properties are sent as a plain object instead.
 */

export interface ErrorProperties {
  readonly name: string
  readonly message: string
  /** The properties of the error that caused this one. */
  readonly cause?: ErrorProperties
  readonly [more: string]: unknown
}

/** The most nested causes that are sent. */
const MAX_CAUSES = 4

/** Returns the name, the message and all own properties (such as the code) of an error and of its causes. */
export function readErrorProperties(error: unknown, causesLeft = MAX_CAUSES): ErrorProperties {
  const { name, message, cause, ...more } = error as Error
  // A cause that is not an Error may be a value that cannot be sent to another thread.
  const hasCause = cause instanceof Error && causesLeft > 0
  return { ...more, name, message, ...(hasCause && { cause: readErrorProperties(cause, causesLeft - 1) }) }
}

/** Makes an Error of the properties that {@link readErrorProperties} returned. */
export function restoreError({ cause, ...properties }: ErrorProperties): Error {
  return Object.assign(new Error('', cause && { cause: restoreError(cause) }), properties)
}
