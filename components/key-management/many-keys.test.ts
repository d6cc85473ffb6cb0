/** Tests that a change of one key costs an engine that knows very many no more: questions to the contract are counted. */
import { beforeAll, describe, expect, it } from 'vitest'
import { toHex } from '../bytes.ts'
import { localChain } from '../test/chains.ts'
import { type Device, device } from '../test/device.ts'
import { bytes, type DeployedContract, deploy, type JsonRpc, party, submit } from '../test/evm.ts'
import { inProcess } from '../test/in-process.ts'
import { http } from './signing.ts'
import { stateChange } from './state-change.ts'

const run = inProcess({ http, stateChange, timers: { 1: (_, context) => stateChange(context) } })
const engines = [party(), party(), party()] as const
const owner = party()
const policy = { signers: [owner.address], notAfter: 0n, sharesPerDay: 0n, prefix: new Uint8Array() }
/** The number of keys that fit into one transaction. */
const AT_ONCE = 40

/** The code of a constructor that creates the keys from `first` to before `end`, and disables each if it is told to. */
function createsKeys(contract: DeployedContract, ids: { first: number; end: number }, disables: boolean): string {
  const create = contract.encode('createKey', { id: 0n, threshold: 2, policy_: policy }).slice(2)
  const disable = contract.encode('disable', 0n).slice(2)
  const number = (value: number, size: number): string => value.toString(16).padStart(2 * size, '0')
  const call = (at: number, length: number): string =>
    // Stores the id behind the selector, calls, and reverts where the call did.
    `8061${number(at + 4, 2)}526000600061${number(length, 2)}61${number(at, 2)}6000` +
    `73${contract.address.slice(2).toLowerCase()}5af11561FAIL57`
  const begin = `61SIZE61DATA60003963${number(ids.first, 4)}`
  const loop = `5b${call(0, create.length / 2)}${disables ? call(1024, disable.length / 2) : ''}`
  const again = `6001018063${number(ids.end, 4)}1161LOOP5760006000f3`
  const code = `${begin}${loop}${again}5b60006000fd`
  const data = create.padEnd(2048, '0') + disable
  return `0x${code
    .replace('SIZE', number(data.length / 2, 2))
    .replace('DATA', number(code.length / 2, 2))
    .replace('LOOP', number(begin.length / 2, 2))
    .replaceAll('FAIL', number(code.length / 2 - 6, 2))}${data}`
}

describe('ten thousand keys', () => {
  let rpc: JsonRpc
  let contract: DeployedContract
  let engine: Device
  let reads = 0
  let next = 1

  const bulk = async (count: number, disables: boolean): Promise<void> => {
    const end = next + count
    for (; next < end; next += AT_ONCE) {
      const code = createsKeys(contract, { first: next, end: Math.min(end, next + AT_ONCE) }, disables)
      const hash = await submit(rpc, owner, '0x', code, 16_000_000n)
      const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as { status: string }
      expect(receipt.status).toBe('0x1')
    }
    next = end
  }
  const counted = async (work: () => Promise<void>): Promise<number> => {
    reads = 0
    await work()
    return reads
  }

  beforeAll(async () => {
    ;({ rpc } = await localChain.start())
    const list = engines.map(({ address }) => ({ engine: address, endpoint: '' }))
    const made = { engines: list, componentSha256: new Uint8Array(32), componentUri: '' }
    contract = await deploy(rpc, 'KeyManagement', made)
    const askRaw = (data: Uint8Array): Promise<Uint8Array> => {
      reads++
      return contract.askRaw(data)
    }
    engine = device(run, { ...contract, askRaw }, engines[0])
    await bulk(10_000, true)
  }, 600_000)

  it('are read 256 changes at a time by an engine that has seen none, and not again', async () => {
    const all = await counted(async () => {
      do {
        engine.timers.delete(1)
        await engine.stateChange()
      } while (engine.timers.has(1))
    })
    expect(all).toBe(Math.ceil(20_000 / 256))
    expect(await counted(engine.stateChange)).toBe(1)
    expect(engine.sent).toEqual([])
  }, 300_000)

  it('cost nothing when another is made', async () => {
    const id = 1_000_000n
    await contract.send(owner, 'createKey', { id, threshold: 2, policy_: policy })
    // The change, the engines, and what they have published.
    expect(await counted(engine.stateChange)).toBe(3)
    expect(toHex(engine.sent[0] ?? bytes(''))).toMatch(/^421792ed/)
    expect(await counted(engine.stateChange)).toBe(1)
    engine.ahead += 61_000
    // The steps that were sent a minute ago are there.
    expect(await counted(() => engine.timer(1))).toBe(2)
    expect(engine.sent).toHaveLength(1)
  }, 60_000)

  it('that wait to be made cost a run of the hook no more than what it does', async () => {
    await bulk(1000, false)
    // The changes, the engines, and of four keys what is published.
    expect(await counted(engine.stateChange)).toBe(6)
    expect(engine.sent).toHaveLength(5)
    expect(engine.timers.get(1)).toBe(0)
  }, 120_000)
})
