import { describe, expect, it } from 'vitest'
import { createAbiReader } from './abi-reader.ts'
import { readComponentReference, readEngines } from './contract.ts'
import { readData } from './values.ts'

const word = (value: number | string): string =>
  (typeof value === 'string' ? value : value.toString(16)).padStart(64, '0')
const textOf = (text: string): string => {
  const hex = Buffer.from(text).toString('hex')
  return word(hex.length / 2) + hex.padEnd(Math.ceil(hex.length / 64) * 64, '0')
}
const bytesOf = (...words: string[]): Uint8Array => Buffer.from(words.join(''), 'hex')
const ENGINE = '12'.repeat(20)

/** Writes the answer of `engines()` with one engine. */
const enginesWith = (endpoint: string, address = ENGINE): Uint8Array =>
  bytesOf(word(32), word(1), word(32), word(address), word(64), textOf(endpoint))

describe('the engines of a contract', () => {
  it.each([
    ['https://engine.example/', 'https://engine.example'],
    ['https://engine.example\n', ''],
    ['https://engine.example/a\tb', ''],
    ['ftp://engine.example', ''],
    [`https://${'a'.repeat(2048 - 8)}`, `https://${'a'.repeat(2048 - 8)}`],
    [`https://${'a'.repeat(2049 - 8)}`, ''],
  ])('may have the endpoint %j, which is read as %j', (endpoint, expected) => {
    expect(readEngines(enginesWith(endpoint))).toEqual([{ address: `00${ENGINE}`, endpoint: expected }])
  })

  it('have no address of more than 20 bytes', () => {
    expect(() => readEngines(enginesWith('', `01${ENGINE}`))).toThrow('an address is too long')
  })
})

it.each([
  ['00'.repeat(32), undefined],
  ['ab'.repeat(32), { sha256: 'ab'.repeat(32), uri: 'https://a.example' }],
])('a component with the digest %s is %o', (digest, expected) => {
  expect(readComponentReference(bytesOf(digest, word(64), textOf('https://a.example')))).toEqual(expected)
})

it('an array may have as many elements as are read, and no more', () => {
  const answer = createAbiReader(bytesOf(word(32), word(2), word(1), word(2)))
  expect(answer.array(0, 2).length).toBe(2)
  expect(() => answer.array(0, 1)).toThrow('more than 1 elements')
})

it('data may have four mebibytes, and no byte more', () => {
  const most = 4 * 1024 * 1024
  expect(readData(`0x${'00'.repeat(most)}`)).toHaveLength(most)
  expect(() => readData(`0x${'00'.repeat(most + 1)}`)).toThrow('larger than')
})
