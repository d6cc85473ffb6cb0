/** The content of a fetched status list of any kind. `verdict.ts` judges the list for each credential. */
import type { KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { malformed } from '../../codec/malformed.ts'
import type { StatusWidth } from '../../codec/status-list.ts'
import type { Instant, Validity } from '../../credential/format.ts'

export interface FetchedStatusList {
  /** The certificates of the list (DER), that of its key first; empty when the certificates of the credential count. */
  readonly chain: readonly Uint8Array[]
  isSignedBy(key: KeyObject): boolean
  readonly issuedAt: readonly Instant[]
  readonly validity: Validity
  /** The time for which the list says that it may be used. */
  readonly ttlSeconds: number | undefined
  /** The issuer that the list names, one entry for each member with the name; empty for a list without such members. */
  readonly identifiers: readonly string[]
  /** The purposes of the entries; empty where the values have a meaning of their own. */
  readonly purposes: readonly string[]
  readonly width: StatusWidth
  /** Where index 0 is in the first byte. */
  readonly first: 'lowest' | 'highest'
  readonly bytes: Uint8Array
}

/** The size limit of another server's answer. */
export const MAX_LIST_BYTES = 2 * 1024 * 1024
/** The size limit of an unpacked list (four million entries of two bits): unpacking 4 MiB takes up to 70 ms. */
const MAX_UNPACKED_BYTES = 1024 * 1024

/** Returns the bytes of a list. Throws a MalformedError when they are packed otherwise, or are too many. */
export async function unpack(packedList: Uint8Array, by: 'zlib' | 'gzip'): Promise<Uint8Array> {
  const unpacking = by === 'zlib' ? promisify(inflate) : promisify(gunzip)
  try {
    return await unpacking(packedList, { maxOutputLength: MAX_UNPACKED_BYTES })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      return malformed(`its list is larger than ${MAX_UNPACKED_BYTES} bytes when it is unpacked`)
    }
    return malformed(`its list is not packed by ${by}`, error)
  }
}
