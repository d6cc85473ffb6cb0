import { describe, expect, it } from 'vitest'
import { type Cbor, type CborKey, encodeCbor } from '../../codec/cbor.ts'
import { MalformedError } from '../../codec/malformed.ts'
import { digestItem, readIdentifier, verifyElements } from './elements.ts'
import type { IssuerSigned } from './issuer-signed.ts'

const members: Readonly<Record<string, Cbor>> = {
  digestID: 0,
  random: new Uint8Array(16),
  elementIdentifier: 'name',
  elementValue: 'Ada',
}

/** Makes an element with some of its members changed, or left out. */
function itemWith(change: Readonly<Record<string, Cbor | undefined>> = {}): Uint8Array {
  const entries = Object.entries({ ...members, ...change })
  return encodeCbor(new Map(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))))
}

function read(
  items: readonly Uint8Array[],
  { algorithm = 'SHA-256', hash = 'sha256', digests = undefined as Cbor | undefined } = {},
) {
  const signed = new Map<CborKey, Cbor>(items.map((item, index) => [index, digestItem(item, hash)]))
  const mso = { digestAlgorithm: algorithm, valueDigests: new Map<CborKey, Cbor>([['space', digests ?? signed]]) }
  return verifyElements({ nameSpaces: new Map([['space', items]]), mso } as unknown as IssuerSigned)
}

describe('the elements that are shown', () => {
  it.each([
    ['SHA-256', 'sha256'],
    ['SHA-384', 'sha384'],
    ['SHA-512', 'sha512'],
  ])('are those whose digests were signed, by %s', (algorithm, hash) => {
    const items = [itemWith(), itemWith({ digestID: 1, elementIdentifier: 'height', elementValue: 1.67 })]
    expect(read(items, { algorithm, hash })).toEqual({
      claims: { space: { name: 'Ada', height: 1.67 } },
      problem: undefined,
    })
    const other = hash === 'sha256' ? 'sha512' : 'sha256'
    expect(read(items, { algorithm, hash: other }).problem).toMatch(/not the one whose digest/)
  })

  it('may be none', () => {
    expect(read([])).toEqual({ claims: { space: {} }, problem: undefined })
  })

  it.each<[string, () => ReturnType<typeof read>, RegExp]>([
    ['an algorithm nobody knows', () => read([itemWith()], { algorithm: 'SHA-1' }), /algorithm .* is unknown/],
    ['no digests of the namespace', () => read([itemWith()], { digests: [] }), /no digests for a namespace/],
    ['no digest', () => read([itemWith()], { digests: new Map() }), /signed no digest/],
    ['a digest that is none', () => read([itemWith()], { digests: new Map([[0, 'x']]) }), /signed no digest/],
    ['an element twice', () => read([itemWith(), itemWith({ digestID: 1 })]), /occurs twice/],
    ['an element without a number', () => read([itemWith({ digestID: undefined })]), /digestID .* not a number/],
    ['a number that is a text', () => read([itemWith({ digestID: '0' })]), /digestID .* not a number/],
    ['a negative number', () => read([itemWith({ digestID: -1 })]), /digestID .* not a number/],
    ['an element without a random', () => read([itemWith({ random: undefined })]), /has no random/],
    ['a random that is a text', () => read([itemWith({ random: 'x' })]), /has no random/],
    ['an element without a value', () => read([itemWith({ elementValue: undefined })]), /has no value/],
    ['an element without a name', () => read([itemWith({ elementIdentifier: 7 })]), /the name of an element is not a/],
    ['an element that is not a map', () => read([encodeCbor([])]), /an element is not a CBOR map/],
  ])('are none of them with %s', (_, made, problem) => {
    expect(made()).toEqual({ claims: {}, problem: expect.stringMatching(problem) as string })
  })

  it('are as much as one reading may have together', () => {
    const value = Array<Cbor>(9000).fill(0)
    const items = [0, 1].map((id) => itemWith({ digestID: id, elementIdentifier: `e${id}`, elementValue: value }))
    expect(read(items).problem).toBe(undefined)
    const more = itemWith({ digestID: 2, elementIdentifier: 'e2', elementValue: value })
    expect(read([...items, more]).problem).toMatch(/more than 20000 values/)
  })
})

it('an element is named by what is in it', () => {
  expect(readIdentifier(itemWith())).toBe('name')
  expect(() => readIdentifier(encodeCbor(7))).toThrow(MalformedError)
})
