/**
 * The error that ends a call in the middle: thrown through the component, which cannot catch it. `message` is for the
 * operator's log.
 */
export class Trap extends Error {
  override readonly name = 'Trap'
}

/** Throws a {@link Trap}. */
export function trap(message: string): never {
  throw new Trap(message)
}

/** Traps at one of the limits, by its name in the configuration. */
export function overLimit(limit: string, value: number, what: string): never {
  return trap(`${what}; limits.${limit} is ${value}`)
}
