/** Transactions, the ABI, and the answers of a local chain, compared with viem. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { artifacts } from '../../components/artifacts/index.ts'
import { openBlockFiles } from '../../src/bin/chain/block-files.ts'
import { ENGINE_1 } from '../../src/chain/chain.contract.ts'
import { customError, decodeAnswer, encodeCall, encodeConstructor, parseFunction } from '../../src/chain/evm/abi.ts'
import { createEvmAccount } from '../../src/chain/evm/account.ts'
import { readComponentReference, readContracts, readEngines } from '../../src/chain/evm/contract.ts'
import { fetchChainId } from '../../src/chain/evm/evm.ts'
import { createEvmNode } from '../../src/chain/evm/node.ts'
import { revertReason } from '../../src/chain/evm/revert.ts'
import { openLocalRpc } from '../../src/chain/local/methods.ts'
import { evmAddress } from '../../src/offchain/address.ts'
import { privateKeyToAccount, viem } from '../support/viem.ts'

const KEY = Buffer.from('51'.repeat(32), 'hex')
const TO = `00${'ab'.repeat(20)}`
const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
const bytes = (text: string): Uint8Array => Buffer.from(text.slice(2), 'hex')

const component = artifacts.Component

describe('transactions, as viem reads them', () => {
  const accountOn = (baseFee: string | undefined, needed = '0x5208') => {
    const answers: Readonly<Record<string, unknown>> = {
      eth_estimateGas: needed,
      eth_gasPrice: '0x77',
      eth_maxPriorityFeePerGas: '0x5',
      eth_getBlockByNumber: {
        ...{ number: '0x1', hash: `0x${'01'.repeat(32)}`, timestamp: '0x1' },
        ...{ gasLimit: '0x1c9c380', baseFeePerGas: baseFee },
      },
    }
    const node = createEvmNode((method) => Promise.resolve(answers[method] ?? null))
    const options = {
      node,
      chainId: 31_337n,
      fetchHeadNumber: () => Promise.resolve(1),
      limits: {},
    }
    return createEvmAccount(KEY, options)
  }

  it.each([
    ['of EIP-1559', '0x64', { type: 'eip1559', maxFeePerGas: 205n, maxPriorityFeePerGas: 5n }],
    ['of a chain without base fee', undefined, { type: 'legacy', gasPrice: 0x77n }],
  ])('%s', async (_, baseFee, fees) => {
    const account = accountOn(baseFee)
    const { raw, hash } = await account.sign(TO, bytes('0xdeadbeef'), 0n, 7)
    expect(viem.parseTransaction(raw)).toMatchObject({
      ...fees,
      chainId: 31_337,
      nonce: 7,
      gas: 76_250n,
      to: evmAddress(TO),
      data: '0xdeadbeef',
    })
    expect(viem.keccak256(raw)).toBe(hash)
    const signer = await viem.recoverTransactionAddress({ serializedTransaction: raw })
    expect(signer).toBe(privateKeyToAccount(hex(KEY)).address)
    expect(signer.toLowerCase()).toBe(evmAddress(account.address))
    expect(viem.parseTransaction((await account.sign(TO, bytes('0x'), 99_999n, 8)).raw)).toMatchObject({ gas: 99_999n })
    expect(viem.parseTransaction((await account.sign(undefined, bytes('0x60'), 0n, 9)).raw).to).toBeUndefined()
  })

  it.each([
    ['a quarter more than it needs', 100_000n, 0n, 175_000n],
    ['no more than a transaction may have', 15_000_000n, 0n, 16_777_216n],
    ['no more than that, whatever was named', 100_000n, 2n ** 60n, 16_777_216n],
    ['more, where more is needed', 20_000_000n, 0n, 25_050_000n],
    ['no more than a block has', 29_000_000n, 0n, 30_000_000n],
    ['what was named', 100_000n, 99_999n, 99_999n],
  ])('have %s: needed %s, named %s', async (_, needed, named, given) => {
    const account = accountOn('0x64', `0x${needed.toString(16)}`)
    expect(viem.parseTransaction((await account.sign(TO, bytes('0xdeadbeef'), named, 7)).raw).gas).toBe(given)
  })

  it('have enough to pay for what they carry by the rules of their chain, or are not signed', async () => {
    // 100 bytes: 22,600 gas by the rules of Cancun, 25,000 by those of Prague.
    const sign = (needed: number, gas: bigint) =>
      accountOn('0x64', `0x${needed.toString(16)}`).sign(TO, bytes(`0x${'01'.repeat(100)}`), gas, 7)
    await expect(sign(25_000, 24_999n)).rejects.toMatchObject({ kind: 'refused' })
    await expect(sign(40_000, 24_999n)).rejects.toMatchObject({ kind: 'refused' })
    await expect(sign(22_600, 22_599n)).rejects.toMatchObject({ kind: 'refused' })
    expect((await sign(22_600, 22_600n)).nonce).toBe(7)
    expect((await sign(40_000, 25_000n)).nonce).toBe(7)
  })
})

describe('the ABI, as viem writes and reads it', () => {
  it('of engines(), component() and contracts(), for any value', () => {
    const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((raw) => hex(raw))
    const engine = fc.record({ engine: address, endpoint: fc.webUrl().map((url) => url.replace(/\/+$/, '')) })
    const registry = viem.parseAbi(['function contracts() view returns (address[])'])
    fc.assert(
      fc.property(fc.array(engine, { maxLength: 20 }), fc.string({ unit: 'binary' }), (engines, uri) => {
        const result = (functionName: string, value: unknown, abi: unknown = component.abi): Uint8Array =>
          bytes(viem.encodeFunctionResult({ abi, functionName, result: value }))
        const expected = engines.map((each) => ({ address: `00${each.engine.slice(2)}`, endpoint: each.endpoint }))
        expect(readEngines(result('engines', engines))).toEqual(expected)
        const digest = `0x${'0a'.repeat(32)}`
        expect(readComponentReference(result('component', [digest, uri]))).toEqual({ sha256: digest.slice(2), uri })
        const addresses = engines.map((each) => each.engine)
        expect(readContracts(result('contracts', addresses, registry))).toEqual(expected.map((each) => each.address))
      }),
    )
  })

  it('of calls, constructors and answers', () => {
    const signature =
      'function f(uint8 a, (address who, string[] names)[] b, bytes32 c, bool d, int64 e) returns (uint256, string)'
    const called = parseFunction(signature)
    const [who, digest] = [evmAddress(ENGINE_1), `0x${'0c'.repeat(32)}`]
    const abi = viem.parseAbi([signature])
    const b = [{ who, names: ['x', 'ü'] }]
    const theirs = viem.encodeFunctionData({ abi, functionName: 'f', args: [200, b, digest, true, -5n] })
    expect(hex(encodeCall(called, ['200', b, digest, 'true', '-5']))).toBe(theirs)
    const answer = viem.encodeFunctionResult({ abi, functionName: 'f', result: [2n ** 255n, 'said'] })
    expect(decodeAnswer(called, bytes(answer))).toEqual([(2n ** 255n).toString(), 'said'])
    const engines = [{ engine: who, endpoint: 'https://e.example' }]
    const deploy = viem.encodeDeployData({ ...component, args: [engines, digest, 'u'] })
    expect(hex(encodeConstructor(component.abi, component.bytecode, [engines, digest, 'u']))).toBe(deploy)
  })

  it.each<[string, string, unknown[], RegExp]>([
    ['too few', 'f(uint256 a, bool b)', ['1'], /f takes 2 arguments, not 1: \(uint256 a, bool b\)/],
    ['no number', 'f(uint256 a)', ['x'], /a \(uint256\) must be a whole number/],
    ['no address', 'f(address a)', ['0x12'], /a \(address\) must be an address/],
    ['bytes of another length', 'f(bytes4 a)', ['0x12'], /a \(bytes4\) must be bytes/],
    ['no list', 'f(uint8[] a)', ['1'], /a \(uint8\[\]\) must be a list/],
    ['an object without a member', 'f((uint8 x, bool y) a)', [{ x: 1 }], /must be an object with x, y/],
    ['a number that does not fit', 'f(uint8 a)', ['256'], /./],
  ])('%s: it says what is wrong', (_, signature, values, message) => {
    expect(() => encodeCall(parseFunction(signature), values as never)).toThrow(message)
  })

  it('of reasons', () => {
    const revert = (signature: string, args: unknown[]): Uint8Array => {
      const abi = viem.parseAbi([`function ${signature}`])
      return bytes(viem.encodeFunctionData({ abi, functionName: signature.replace(/\(.*/, ''), args }))
    }
    expect(revertReason(revert('Error(string)', ['not yet']))).toBe('not yet')
    expect(revertReason(revert('Error(string)', ['not\nyet\r\n ok']))).toBe('not yet ok')
    expect(revertReason(revert('Panic(uint256)', [0x11n]))).toBe('a number overflows')
    expect(revertReason(revert('Mine(uint256)', [1n]))).toMatch(/^error 0x[0-9a-f]{8}$/)
    expect(revertReason(bytes('0x08c379a0ff'))).toBe('error 0x08c379a0')
    expect(revertReason(bytes('0x'))).toBeUndefined()
  })

  it.each<[string, unknown[], string]>([
    ['NotOwner()', [], 'NotOwner()'],
    ['TooEarly(uint256 until)', [7n], 'TooEarly(7)'],
    ['Refused(address who, string why, uint8[] list)', [evmAddress(ENGINE_1), 'no "luck"', [1, 2]], ''],
  ])('of a custom error, as Solidity writes it: %s', (signature, args, said) => {
    const abi = viem.parseAbi(['function f()', `error ${signature}`])
    const errorName = signature.replace(/\(.*/, '')
    const thrown = bytes(viem.encodeErrorResult({ abi, errorName, args }))
    const wanted = said === '' ? `Refused(${evmAddress(ENGINE_1)}, "no \\"luck\\"", ["1","2"])` : said
    expect(customError(abi as never, thrown)).toBe(wanted)
    expect(customError(viem.parseAbi(['error Other()']) as never, thrown)).toBeUndefined()
    if (args.length > 0) expect(customError(abi as never, thrown.subarray(0, 10))).toBeUndefined()
  })

  it('of a custom error: of none that Solidity has itself', () => {
    const abi = viem.parseAbi(['error Error(string)'])
    const thrown = bytes(viem.encodeErrorResult({ abi, errorName: 'Error', args: ['x'] }))
    expect(customError(component.abi as never, thrown)).toBeUndefined()
  })
})

describe('a local chain, as viem uses it', () => {
  it('deploys, writes, reads, simulates, and finds logs', async () => {
    const rpc = await openLocalRpc(openBlockFiles(mkdtempSync(join(tmpdir(), 'vouchsafe-viem-'))), () => new Date())
    const transport = viem.custom({ request: ({ method, params }) => rpc(method, params ?? []) })
    const nativeCurrency = { name: 'none', symbol: 'NONE', decimals: 18 }
    const id = Number(await fetchChainId(rpc))
    const chain = viem.defineChain({ id, name: 'local', nativeCurrency, rpcUrls: { default: { http: [] } } })
    const account = privateKeyToAccount(hex(KEY))
    const client = viem.createPublicClient({ chain, transport, pollingInterval: 10 })
    const wallet = viem.createWalletClient({ chain, transport, account })
    const args = [[{ engine: evmAddress(ENGINE_1), endpoint: 'https://e' }], `0x${'01'.repeat(32)}`, '']
    const deployed = await client.waitForTransactionReceipt({
      hash: await wallet.deployContract({ ...component, args }),
    })
    expect(deployed).toMatchObject({ status: 'success', blockNumber: 1n })
    const { abi } = component
    const address = deployed.contractAddress
    const hash = await wallet.writeContract({ abi, address, functionName: 'post', args: ['0x0102'] })
    expect(await client.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success', blockNumber: 2n })
    expect(await client.readContract({ abi, address, functionName: 'engines' })).toEqual(args[0])
    const [event] = viem.parseAbi(['event Message(address indexed from, bytes data)'])
    const logs = await client.getLogs({ address, event, args: { from: account.address }, fromBlock: 0n })
    expect(logs).toMatchObject([{ args: { from: account.address, data: '0x0102' }, blockNumber: 2n }])
    expect(await client.getLogs({ address, event, args: { from: evmAddress(ENGINE_1) }, fromBlock: 0n })).toEqual([])
    const refused = client.simulateContract({ abi, address, functionName: 'setEngines', args: [[]] })
    await expect(refused).rejects.toThrow('NotOwner()')
    expect((await client.getBlock({ includeTransactions: true })).transactions).toMatchObject([{ hash }])
    expect(await client.getTransaction({ hash })).toMatchObject({ from: account.address.toLowerCase(), nonce: 1 })
  })
})
