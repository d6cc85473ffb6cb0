/**
 * Limits on the parts in which a body arrives. A sender may make a part of each byte, by chunks (RFC 9112 section 7.1)
 * or by segments, and each part costs memory and time however few bytes it has.
 */

/** The memory that a part takes at least, in bytes. */
export const MIN_PART_WEIGHT = 512
/** The number of parts up to which they may have any size. */
const MAX_SMALL_PARTS = 2000
/** The mean number of bytes of more parts. Segments and the chunks of clients and proxies have more. */
const MIN_MEAN_BYTES = 64

export const SMALL_PARTS = `the body came in more than ${MAX_SMALL_PARTS} parts of fewer than ${MIN_MEAN_BYTES} bytes; send larger chunks`

/** Returns the memory that a part of a body counts for, in bytes. */
export function weighPart(part: Uint8Array): number {
  return Math.max(part.length, MIN_PART_WEIGHT)
}

/** Creates a function that receives each part of one body, and tests whether the parts are too small and too many. */
export function createPartCheck(): (part: Uint8Array) => boolean {
  let [parts, bytes] = [0, 0]
  return ({ length }) => {
    parts++
    bytes += length
    return parts > MAX_SMALL_PARTS && bytes < parts * MIN_MEAN_BYTES
  }
}
