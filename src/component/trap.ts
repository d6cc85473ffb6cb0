/** The error that aborts a call. The component cannot catch it. The message is for the operator's log. */
export class Trap extends Error {
  override readonly name = 'Trap'
}

/** Throws a {@link Trap}. */
export function trap(message: string): never {
  throw new Trap(message)
}

/** Throws a {@link Trap} for an exceeded limit. `limit` is its name in the configuration. */
export function trapOverLimit(limit: string, value: number, what: string): never {
  return trap(`${what}; limits.${limit} is ${value}`)
}
