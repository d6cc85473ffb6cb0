/** Encodes bytes in hexadecimal, since there is no Buffer in the sandbox. */

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Decodes hexadecimal. Throws for anything but pairs of hexadecimal digits. */
export function fromHex(text: string): Uint8Array {
  if (!/^([0-9a-f]{2})*$/i.test(text)) throw new Error('that is not hexadecimal')
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, { length: more }) => length + more, 0))
  let at = 0
  for (const each of parts) {
    whole.set(each, at)
    at += each.length
  }
  return whole
}

export function equal(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index])
}
