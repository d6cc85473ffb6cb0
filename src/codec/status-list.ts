/**
 * Status lists: the types and claims of their tokens, and their bytes. Entries have 1, 2, 4 or 8 bits, and the first
 * one is in the lowest bits of the first byte. Token Status List, Compressed Byte Array.
 */

/** The media types of status list tokens. Token Status List, Status List Request. */
export const STATUS_LIST_MEDIA_TYPES = { jwt: 'application/statuslist+jwt', cwt: 'application/statuslist+cwt' } as const

/** The media type of identifier lists. ISO/IEC 18013-5, second edition, 12.3.6.4. */
export const IDENTIFIER_LIST_MEDIA_TYPE = 'application/identifierlist+cwt'

/**
 * The numbers of CWT claims. RFC 8392 section 4; Token Status List, IANA Considerations; ISO/IEC 18013-5, second
 * edition, 12.3.6.4.
 */
export const CWT_CLAIM = {
  sub: 2,
  exp: 4,
  nbf: 5,
  iat: 6,
  identifierList: 65_530,
  statusList: 65_533,
  ttl: 65_534,
} as const

export type StatusWidth = 1 | 2 | 4 | 8

/** The purposes of W3C status lists that affect validity. Bitstring Status List, BitstringStatusListEntry. */
export const statusPurposes = ['revocation', 'suspension'] as const
export type StatusPurpose = (typeof statusPurposes)[number]

/** Tests whether a text is one of {@link statusPurposes}. */
export function isStatusPurpose(text: string): text is StatusPurpose {
  return statusPurposes.some((purpose) => purpose === text)
}

/** Returns the number of entries. */
export function capacityOf(bytes: Uint8Array, width: StatusWidth): number {
  return (bytes.length * 8) / width
}

/** Returns the value at `index`, which must be less than {@link capacityOf}. */
export function statusAt(bytes: Uint8Array, width: StatusWidth, index: number): number {
  const [byte, shift] = bitPosition(width, index)
  return ((bytes[byte] as number) >> shift) & maskOf(width)
}

/** Sets the value at `index`, in place. */
export function setStatus(bytes: Uint8Array, width: StatusWidth, index: number, status: number): void {
  const [byte, shift] = bitPosition(width, index)
  const mask = maskOf(width)
  bytes[byte] = ((bytes[byte] as number) & ~(mask << shift)) | ((status & mask) << shift)
}

function bitPosition(width: StatusWidth, index: number): readonly [byte: number, shift: number] {
  return [Math.floor((index * width) / 8), (index * width) % 8]
}

function maskOf(width: StatusWidth): number {
  return (1 << width) - 1
}
