/** The content of a loaded status list of any kind. `verdict.ts` looks up the status of a credential. */
import type { KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { malformed } from '../../codec/malformed.ts'
import type { StatusWidth } from '../../codec/status-list.ts'
import type { Instant, Validity } from '../../credential/format.ts'

export interface FetchedStatusList {
  /** The certificates of the list (DER), that of its key first; empty if those of the credential apply. */
  readonly chain: readonly Uint8Array[]
  isSignedBy(key: KeyObject): boolean
  readonly issuedAt: readonly Instant[]
  readonly validity: Validity
  /** The ttl of the list, if it has one. */
  readonly ttlSeconds: number | undefined
  /** The issuers that the list names; empty if it names none. */
  readonly identifiers: readonly string[]
  /** The purposes of the list; empty for a status list token. */
  readonly purposes: readonly string[]
  readonly width: StatusWidth
  /** Whether index 0 is in the lowest or the highest bits of the first byte. */
  readonly first: 'lowest' | 'highest'
  readonly bytes: Uint8Array
}

/** The maximum size of a response with a list. */
export const MAX_LIST_BYTES = 2 * 1024 * 1024
/** The maximum size after decompression: four million entries of two bits. Decompressing 4 MiB takes up to 70 ms. */
const MAX_UNPACKED_BYTES = 1024 * 1024

interface Decompression {
  readonly buffer: Uint8Array
  /** `bytesWritten` is the number of bytes of the compressed data, without those that follow its end. */
  readonly engine: { readonly bytesWritten: number }
}

/**
 * Decompresses a list. Throws a MalformedError if it is not compressed that way, if other bytes follow, or if it is too
 * large.
 */
export async function unpack(packedList: Uint8Array, by: 'zlib' | 'gzip'): Promise<Uint8Array> {
  const unpacking = by === 'zlib' ? promisify(inflate) : promisify(gunzip)
  let decompression: Decompression
  try {
    // The types of Node.js do not have the result of `info`.
    decompression = (await unpacking(packedList, {
      maxOutputLength: MAX_UNPACKED_BYTES,
      info: true,
    })) as unknown as Decompression
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      return malformed(`its list is larger than ${MAX_UNPACKED_BYTES} bytes when it is unpacked`)
    }
    return malformed(`its list is not packed by ${by}`, error)
  }
  if (decompression.engine.bytesWritten !== packedList.length)
    return malformed(`its list is not packed by ${by} alone: other bytes follow`)
  return decompression.buffer
}
