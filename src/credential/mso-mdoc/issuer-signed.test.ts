import { beforeAll, describe, expect, it } from 'vitest'
import { type Cbor, type CborKey, embedCbor, encodeCbor } from '../../codec/cbor.ts'
import { writeSign1 } from '../../codec/cose.ts'
import { readClosedMap, readIssuerSigned } from './issuer-signed.ts'

const mso: ReadonlyMap<CborKey, Cbor> = new Map<CborKey, Cbor>([
  ['version', '1.0'],
  ['digestAlgorithm', 'SHA-256'],
  ['valueDigests', new Map([['a', 1]])],
  ['deviceKeyInfo', new Map([['b', 2]])],
  ['docType', 'org.example'],
  ['validityInfo', new Map([['c', 3]])],
  ['status', new Map([['d', 4]])],
])

/** An issuerAuth over this; nothing here looks at the signature. */
const sealed = (payload: Uint8Array, detached = false): Promise<Cbor> =>
  writeSign1({ alg: -7, payload, detached }, () => Promise.resolve(new Uint8Array(64)))

const element = embedCbor(new Map())
const elements = (count: number): Cbor => Array<Cbor>(count).fill(element)
const spaces = (...counts: readonly number[]): Cbor =>
  new Map<CborKey, Cbor>(counts.map((count, index) => [`n${index}`, elements(count)]))

describe('what an issuer signed', () => {
  let issuerAuth: Cbor
  beforeAll(async () => {
    issuerAuth = await sealed(encodeCbor(embedCbor(mso)))
  })

  it('is taken apart', () => {
    const read = readIssuerSigned(new Map<CborKey, Cbor>([['issuerAuth', issuerAuth]]))
    expect(read.nameSpaces.size).toBe(0)
    expect(read.rawIssuerAuth).toBe(issuerAuth)
    expect(read.mso).toEqual({
      bytes: read.issuerAuth.payload,
      version: '1.0',
      docType: 'org.example',
      digestAlgorithm: 'SHA-256',
      valueDigests: mso.get('valueDigests'),
      deviceKeyInfo: mso.get('deviceKeyInfo'),
      validityInfo: mso.get('validityInfo'),
      status: mso.get('status'),
    })
  })

  it.each<[string, number[]]>([
    ['1000 elements', [1000]],
    ['1000 elements of two namespaces', [1, 999]],
    ['32 namespaces', Array<number>(32).fill(1)],
    ['no namespaces', []],
  ])('may have %s', (_, counts) => {
    const made = new Map([
      ['issuerAuth', issuerAuth],
      ['nameSpaces', spaces(...counts)],
    ])
    const read = [...readIssuerSigned(made).nameSpaces].map(([name, items]) => [name, items.length])
    expect(read).toEqual(counts.map((count, at) => [`n${at}`, count]))
  })

  it.each<[string, () => readonly (readonly [CborKey, Cbor])[], string]>([
    ['more members', () => [['x', 1]], 'issuerSigned has members other than nameSpaces, issuerAuth'],
    ['members that are not texts', () => [[1, 1]], 'issuerSigned has members other than'],
    ['1001 elements', () => [['nameSpaces', spaces(1001)]], 'it has more than 1000 elements'],
    ['1001 elements of two namespaces', () => [['nameSpaces', spaces(2, 999)]], 'it has more than 1000 elements'],
    ['33 namespaces', () => [['nameSpaces', spaces(...Array<number>(33).fill(1))]], 'it has more than 32 namespaces'],
    ['namespaces that are not a map', () => [['nameSpaces', []]], 'nameSpaces is not a CBOR map'],
    ['a namespace whose name is not text', () => [['nameSpaces', new Map([[1, []]])]], 'a namespace is not a text'],
    [
      'a namespace that is not an array',
      () => [['nameSpaces', new Map([['a', 1]])]],
      'a namespace is not a CBOR array',
    ],
    ['an element without its tag', () => [['nameSpaces', new Map([['a', [1]]])]], 'an element is not embedded CBOR'],
  ])('cannot be read with %s', (_, more, problem) => {
    expect(() => readIssuerSigned(new Map<CborKey, Cbor>([['issuerAuth', issuerAuth], ...more()]))).toThrow(problem)
  })

  it.each<[string, () => Promise<Cbor | undefined>, string]>([
    ['without a signature', () => Promise.resolve(undefined), 'there is no issuerAuth'],
    ['with another signature', () => Promise.resolve([]), 'issuerAuth is not a COSE_Sign1 of four parts'],
    ['with a payload that is elsewhere', () => sealed(encodeCbor(embedCbor(mso)), true), 'issuerAuth has no payload'],
    ['with a payload without its tag', () => sealed(encodeCbor(mso)), 'the mobile security object is not embedded'],
    ['with a payload that is not CBOR', () => sealed(Uint8Array.of(0xff)), 'the mobile security object: '],
    [
      'with a payload that is not a map',
      () => sealed(encodeCbor(embedCbor(7))),
      'the mobile security object is not a CBOR map',
    ],
    ...['valueDigests', 'deviceKeyInfo', 'validityInfo', 'docType'].map(
      (name): [string, () => Promise<Cbor>, string] => [
        `with another ${name}`,
        () => sealed(encodeCbor(embedCbor(new Map([...mso, [name, 7]])))),
        `${name} of the mobile security object is not a`,
      ],
    ),
  ])('cannot be read %s', async (_, made, problem) => {
    const auth = await made()
    const value = new Map<CborKey, Cbor>(auth === undefined ? [] : [['issuerAuth', auth]])
    expect(() => readIssuerSigned(value)).toThrow(problem)
  })
})

it('a map has the members that are named, or some of them', () => {
  const map = new Map<CborKey, Cbor>([['a', 1]])
  expect(readClosedMap(map, 'it', ['a', 'b'])).toBe(map)
  expect(readClosedMap(new Map(), 'it', []).size).toBe(0)
  expect(() => readClosedMap(map, 'it', ['b'])).toThrow('it has members other than b')
  expect(() => readClosedMap(new Map([...map, ['c', 1]]), 'it', ['a', 'b'])).toThrow('it has members other than a, b')
})
