/** IP addresses and lists of them for a browser: as much of `node:net` as the wallet uses, under Node's names. */

type Family = 'ipv4' | 'ipv6'

const BITS = { ipv4: 32, ipv6: 128 }
/** The form in which the parts of an address are written. */
const PARTS = {
  ipv4: { count: 4, bits: 8n, form: /^(0|[1-9]\d{0,2})$/, radix: 10, most: 255 },
  ipv6: { count: 8, bits: 16n, form: /^[\da-f]{1,4}$/, radix: 16, most: 0xffff },
}

export function isIPv4(text: string): boolean {
  return addressValue(text, 'ipv4') !== undefined
}

export function isIPv6(text: string): boolean {
  return addressValue(text, 'ipv6') !== undefined
}

export class BlockList {
  readonly #subnets: { readonly family: Family; readonly shift: bigint; readonly start: bigint }[] = []

  addSubnet(net: string, length: number, family: Family): void {
    const shift = BigInt(BITS[family] - length)
    this.#subnets.push({ family, shift, start: (addressValue(net, family) ?? 0n) >> shift })
  }

  /** Whether the address is in a subnet of its family. No other text is. */
  check(address: string, family: Family = 'ipv4'): boolean {
    const value = addressValue(address, family)
    if (value === undefined) return false
    return this.#subnets.some((subnet) => subnet.family === family && value >> subnet.shift === subnet.start)
  }
}

/** Returns the address as a number. */
function addressValue(text: string, family: Family): bigint | undefined {
  return family === 'ipv4' ? numberOf(text.split('.'), 'ipv4') : ipv6Value(text)
}

function ipv6Value(text: string): bigint | undefined {
  if (!/^[\da-f:.]+$/i.test(text) || !URL.canParse(`http://[${text}]`)) return undefined
  // A URL has the shortest form, and no IPv4 address inside.
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':'))) as [string[], string[]]
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - first.length - last.length }, () => '0')
  return numberOf([...first, ...zeros, ...last], 'ipv6')
}

function numberOf(parts: readonly string[], family: Family): bigint | undefined {
  const { count, bits, form, radix, most } = PARTS[family]
  if (parts.length !== count || !parts.every((part) => form.test(part) && Number.parseInt(part, radix) <= most)) {
    return undefined
  }
  return parts.reduce((value, part) => (value << bits) | BigInt(Number.parseInt(part, radix)), 0n)
}
