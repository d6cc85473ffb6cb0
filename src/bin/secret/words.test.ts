import { describe, expect, it } from 'vitest'
import { UsageError } from '../terminal/command-line.ts'
import { readCommand } from './words.ts'

const CONTRACT = `0x${'0A'.repeat(20)}`

describe('the words after vouchsafe secret', () => {
  it('are read', () => {
    const words = [
      'put',
      '--contract',
      CONTRACT,
      '--id',
      '7',
      '--threshold',
      '3',
      '--rpc',
      'http://localhost:8545',
      '--max-gas-price',
      '9',
    ]
    const { word, rest, options } = readCommand(words)
    expect([word, rest]).toEqual(['put', []])
    expect(options).toMatchObject({
      contract: `00${'0a'.repeat(20)}`,
      id: 7n,
      threshold: 3,
      maxGasPrice: '9',
      scheme: undefined,
      all: false,
    })
  })

  it.each([
    [[], 'Usage:'],
    [['gte'], 'there is no command secret gte'],
    [['get'], '--contract ADDRESS is missing'],
    [['get', '--contract', '0x12', '--id', '1'], '--contract 0x12 is not an address'],
    [['get', '--contract', CONTRACT, '--id', 'x'], '--id x is not a decimal number'],
    [['get', '--contract', CONTRACT, '--id', '1', '--scheme', 'rot13'], '--scheme rot13: say shamir or xor'],
    [['put', '--contract', CONTRACT, '--threshold', 'two'], '--threshold two is not a number'],
    [['put', '--nothing'], "Unknown option '--nothing'"],
    [['get', '--contract', CONTRACT, '--resume', 'a'], '--resume is for secret put'],
  ])('are refused with the usage: %j', (words, why) => {
    const read = () => readCommand(words)
    expect(read).toThrow(UsageError)
    expect(read).toThrow(why)
    expect(read).toThrow('vouchsafe secret put')
  })
})
