import { keccak_256 } from '@noble/hashes/sha3.js'
import { createContract, parseAbi } from 'micro-eth-signer/abi.js'
import { describe, expect, it } from 'vitest'
import { account, answer, byteString, callData, list, uint } from './abi.ts'
import { fromHex, toHex } from './bytes.ts'
import * as keyManagement from './key-management/contract.ts'
import * as secretSharing from './secret-sharing/contract.ts'
import { abiOf } from './test/evm.ts'

const someone = `00${'ab'.repeat(20)}`

describe('the ABI of components', () => {
  it.each([
    ['SecretSharing', secretSharing.selectors],
    ['KeyManagement', keyManagement.selectors],
  ] as const)('has the selectors of %s', (name, selectors) => {
    const methods = (abiOf(name) as { type: string; name?: string }[]).filter(({ type }) => type === 'function')
    for (const [signature, selector] of Object.entries(selectors)) {
      expect(toHex(keccak_256(new TextEncoder().encode(signature)).subarray(0, 4))).toBe(selector)
      expect(methods.map((method) => method.name)).toContain(signature.split('(', 1)[0])
    }
  })

  it('writes what a library writes', () => {
    const methods = createContract(abiOf('KeyManagement'))
    const registration = new Uint8Array(32).fill(3)
    const given = [new Uint8Array(48).fill(1), new Uint8Array(0), new Uint8Array(33).fill(2)]
    const written = callData('2d0e32b6', uint(7), registration, list(given.map(byteString)))
    expect(written).toEqual(methods.publishShares?.encodeInput({ id: 7n, registration, encrypted: given }))
    const complaint = keyManagement.complain({ id: 8n, registration }, someone, 'because')
    const asked = { id: 8n, registration, accused: `0x${someone.slice(2)}`, reason: 'because' }
    expect(complaint).toEqual(methods.complain?.encodeInput(asked))
    expect(account(someone)).toEqual(fromHex(someone.slice(2).padStart(64, '0')))
  })

  it('reads what a library writes', () => {
    const abi = parseAbi(['function given(uint128[] a, bytes[] b, (address engine, string endpoint)[] c, bool d)'])
    const engine = `0x${'cd'.repeat(20)}`
    const given = {
      a: [1n, 2n ** 128n - 1n],
      b: [new Uint8Array([1, 2]), new Uint8Array()],
      c: [{ engine, endpoint: 'http://x' }],
      d: true,
    }
    const found = answer((createContract(abi).given?.encodeInput(given) ?? new Uint8Array()).subarray(4))
    expect(found.list(0, (items, at) => items.uint(at))).toEqual(given.a)
    expect(found.list(1, (items, at) => items.bytes(at))).toEqual(given.b)
    expect(found.list(2, (items, at) => [items.tuple(at).address(0), items.tuple(at).text(1)])).toEqual([
      [`00${'cd'.repeat(20)}`, 'http://x'],
    ])
    expect(found.flag(3)).toBe(true)
  })

  it.each([
    ['nothing', ''],
    ['an offset out of it', 'ff'.repeat(2).padStart(64, '0')],
    ['an offset that is no number', 'ff'.repeat(32)],
    ['a list longer than it', `${'20'.padStart(64, '0')}${'ff'.padStart(64, '0')}`],
    ['a list of very many', `${'20'.padStart(64, '0')}${'ff'.repeat(6).padStart(64, '0')}`],
  ])('throws at %s', (_, text) => {
    expect(() => answer(fromHex(text)).list(0, (items, at) => items.uint(at))).toThrow(/the contract answered/)
    expect(() => answer(fromHex(text)).bytes(0)).toThrow(/the contract answered/)
  })
})
