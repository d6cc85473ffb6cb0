/** The error that aborts a call. The component cannot catch it. The message is for the operator's log. */
export class Trap extends Error {
  override readonly name = 'Trap'
}

/**
 * The most characters of an error message for the operator's log; the error of a component may be as long as its
 * memory.
 */
export const MAX_TRAP_MESSAGE = 4096

/** Throws a {@link Trap}. */
export function trap(message: string): never {
  throw new Trap(message)
}

/**
 * The most objects that a worker holds for a call. The heap of a worker has 256 MB, whatever `limits.memoryBytes` is,
 * and V8 ends the whole process when the table of a larger map does not fit.
 */
export const MAX_HELD_OBJECTS = 200_000

/** Throws a {@link Trap} for an exceeded limit. `limit` is its name in the configuration. */
export function trapOverLimit(limit: string, value: number, what: string): never {
  return trap(`${what}; limits.${limit} is ${value}`)
}
