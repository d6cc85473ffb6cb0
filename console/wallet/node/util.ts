/** Equality for a browser: as much of `node:util` as the wallet uses, under Node's name. */

/** Compares values as JSON has them. */
export function isDeepStrictEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [members, others] = [Object.entries(one), Object.entries(other)]
  if (members.length !== others.length) return false
  return members.every(
    ([name, value]) => Object.hasOwn(other, name) && isDeepStrictEqual(value, (other as Record<string, unknown>)[name]),
  )
}
