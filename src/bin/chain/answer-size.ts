/** The limits on the answers of nodes of a chain. The values are counted before an answer is parsed. */

/** The most bytes of an answer. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/**
 * The most commas in an answer, and so about the most members and elements. Parsing as many takes less than a second,
 * and 15,000 logs have fewer; a million members would block all requests for seconds.
 */
export const MAX_COMMAS = 200_000
const COMMA = 0x2c

/** Tests whether the JSON text has more than {@link MAX_COMMAS} commas. */
export function hasTooManyValues(json: Uint8Array): boolean {
  let commas = 0
  for (let at = json.indexOf(COMMA); at >= 0; at = json.indexOf(COMMA, at + 1)) {
    commas += 1
    if (commas > MAX_COMMAS) return true
  }
  return false
}
