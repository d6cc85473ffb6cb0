/** Reads the cookies of a browser. */

/**
 * Returns the values of the cookies with a name, of which there may be several: programs at other ports of this machine
 * may have set cookies of the same name.
 */
export function cookieValues(header: string | undefined, name: string): readonly string[] {
  const prefix = `${name}=`
  return (header ?? '')
    .split(';')
    .map((cookie) => cookie.trim())
    .flatMap((cookie) => (cookie.startsWith(prefix) ? [cookie.slice(prefix.length)] : []))
}
