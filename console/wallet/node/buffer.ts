/** Bytes with encodings for a browser: as much of Node's `Buffer` as the wallet uses, under Node's names. */

type Encoding = 'utf8' | 'latin1' | 'hex' | 'base64' | 'base64url' | 'utf16le'

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

class Bytes extends Uint8Array {
  override toString(encoding: Encoding = 'utf8'): string {
    if (encoding === 'utf8') return utf8.decode(this)
    if (encoding === 'utf16le') return this.#utf16Text()
    if (encoding === 'hex') return Array.from(this, (byte) => byte.toString(16).padStart(2, '0')).join('')
    const text = Array.from(this, (byte) => String.fromCharCode(byte)).join('')
    if (encoding === 'latin1') return text
    const base64 = btoa(text)
    return encoding === 'base64'
      ? base64
      : base64
          .replaceAll('+', '-')
          .replaceAll('/', '_')
          .replace(/={1,2}$/, '')
  }

  /** Half of a character stays as it is, which decoders would replace. */
  #utf16Text(): string {
    const units = Array.from(
      { length: this.length >> 1 },
      (_, at) => (this[2 * at] ?? 0) | ((this[2 * at + 1] ?? 0) << 8),
    )
    return String.fromCharCode(...units)
  }

  equals(other: Uint8Array): boolean {
    return this.compare(other) === 0
  }

  compare(other: Uint8Array): number {
    const length = Math.min(this.length, other.length)
    for (let at = 0; at < length; at++) {
      const difference = (this[at] ?? 0) - (other[at] ?? 0)
      if (difference !== 0) return Math.sign(difference)
    }
    return Math.sign(this.length - other.length)
  }

  /** Reads an unsigned number of up to six bytes, the first byte being the highest. */
  readUIntBE(offset: number, length: number): number {
    return this.subarray(offset, offset + length).reduce((number, byte) => number * 256 + byte, 0)
  }

  readIntBE(offset: number, length: number): number {
    const number = this.readUIntBE(offset, length)
    return (this[offset] ?? 0) < 0x80 ? number : number - 256 ** length
  }

  readUInt32BE(offset: number): number {
    return this.readUIntBE(offset, 4)
  }

  /** Swaps the two bytes of each unit of UTF-16, in place. */
  swap16(): this {
    for (let at = 0; at + 1 < this.length; at += 2) {
      const first = this[at] ?? 0
      this[at] = this[at + 1] ?? 0
      this[at + 1] = first
    }
    return this
  }
}

export const Buffer = {
  from(value: string | ArrayBuffer | ArrayLike<number>, encoding?: Encoding | number, length?: number): Bytes {
    if (typeof value === 'string') return fromText(value, typeof encoding === 'string' ? encoding : 'utf8')
    if (value instanceof ArrayBuffer) return new Bytes(value, typeof encoding === 'number' ? encoding : 0, length)
    return new Bytes(value)
  },
  of: (...bytes: number[]): Bytes => new Bytes(bytes),
  alloc: (size: number): Bytes => new Bytes(size),
  concat(parts: readonly Uint8Array[]): Bytes {
    const whole = new Bytes(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
      whole.set(part, at)
      at += part.length
    }
    return whole
  },
}

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictUtf8.decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Decodes a text as leniently as Node does: foreign characters end hexadecimal digits, and are skipped in base64. */
function fromText(text: string, encoding: Encoding): Bytes {
  if (encoding === 'utf8') return new Bytes(new TextEncoder().encode(text))
  if (encoding === 'hex') {
    const [digits = ''] = /^(?:[\da-f]{2})*/i.exec(text) ?? []
    return new Bytes((digits.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16)))
  }
  if (encoding === 'latin1') return fromLatin1(text)
  if (encoding === 'utf16le') throw new TypeError('no text is encoded in UTF-16 here')
  const [body = ''] = text.replaceAll('-', '+').replaceAll('_', '/').split('=', 1)
  const letters = body.replace(/[^A-Za-z\d+/]/g, '')
  return fromLatin1(atob(letters.length % 4 === 1 ? letters.slice(0, -1) : letters))
}

function fromLatin1(text: string): Bytes {
  return new Bytes(Array.from(text, (letter) => letter.charCodeAt(0)))
}
