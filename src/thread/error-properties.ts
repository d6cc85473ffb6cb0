/** Errors that cross between threads: a copy of an Error loses its code, and so its properties go instead. */

export interface ErrorProperties {
  readonly name: string
  readonly message: string
  readonly [more: string]: unknown
}

/** Returns the name, the message and all own properties of an error, such as a code. */
export function readErrorProperties(error: unknown): ErrorProperties {
  const { name, message, ...more } = error as Error
  return { ...more, name, message }
}

/** Returns an Error with the properties that {@link readErrorProperties} read. */
export function restoreError(properties: ErrorProperties): Error {
  return Object.assign(new Error(), properties)
}
