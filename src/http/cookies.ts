/** Parses the `Cookie` header. */

/**
 * Returns the values of all cookies with this name. Other ports of the same host may set cookies with the same name.
 */
export function cookieValues(header: string | undefined, name: string): readonly string[] {
  const prefix = `${name}=`
  return (header ?? '')
    .split(';')
    .map((cookie) => cookie.trim())
    .flatMap((cookie) => (cookie.startsWith(prefix) ? [cookie.slice(prefix.length)] : []))
}
