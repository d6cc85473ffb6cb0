/** Processes on one local chain: they append at once, and are killed while they do. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openBlockFiles, storeComponent } from '../../src/bin/chain/block-files.ts'
import { createHttpJsonRpc } from '../../src/bin/chain/json-rpc-http.ts'
import { createOutbound } from '../../src/bin/network/outbound.ts'
import { type ChainUnderTest, call, deployedComponent, sent } from '../../src/chain/chain.contract.ts'
import { createEvmChain, fetchChainId } from '../../src/chain/evm/evm.ts'
import { createEvmNode } from '../../src/chain/evm/node.ts'
import type { JsonRpc } from '../../src/chain/json-rpc.ts'
import { openLocalRpc } from '../../src/chain/local/methods.ts'
import type { Address } from '../../src/offchain/address.ts'
import { startCommand } from '../support/command.ts'

const KEYS = ['41', '42', '43'].map((byte) => Buffer.from(byte.repeat(32), 'hex'))
const [FIRST = Buffer.alloc(0)] = KEYS
const SLOW_MS = 600_000

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), 'vouchsafe-local-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const open = (place: string, now = (): Date => new Date()): Promise<JsonRpc> => openLocalRpc(openBlockFiles(place), now)

async function underTest(rpc: JsonRpc): Promise<ChainUnderTest> {
  return { rpc, id: await fetchChainId(rpc), key: FIRST }
}

/** Starts `vouchsafe chain serve` of this directory as a process of its own. */
async function serve(place: string): Promise<{ rpc: JsonRpc; kill: () => Promise<unknown> }> {
  const { child, ended } = startCommand(['chain', 'serve', '--dir', place, '--port', '0'])
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (text: string) => resolve(/http:\S+/.exec(text)?.[0] ?? ''))
    void ended.then(({ stderr }) => reject(new Error(stderr)))
  })
  const kill = (): Promise<unknown> => {
    child.kill('SIGKILL')
    return ended
  }
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) await kill()
  })
  return { rpc: createHttpJsonRpc(url, createOutbound(), { pausesMs: [] }), kill }
}

/** Posts until it has so many, or the process is gone; whatever was acknowledged goes into `hashes`. */
async function post(under: ChainUnderTest, contract: Address, key: Uint8Array, most: number, hashes: string[]) {
  const account = createEvmChain(under.rpc, { id: under.id, confirmations: 0 }).createAccount(key)
  try {
    for (let count = 0; count < most; count++) {
      const payload = call('post(bytes)', `0x${count.toString(16).padStart(4, '0')}`)
      const transaction = await account.sign(contract, payload, 0n, await account.fetchNextNonce())
      await account.submit(transaction)
      hashes.push(transaction.hash)
    }
  } catch (error) {
    if (most !== Number.POSITIVE_INFINITY) throw error
  }
}

interface InFile {
  readonly number: number
  readonly parent: string
  readonly hash: string
  readonly time: number
}

/** Blocks as their files have them. */
function blocksOf(place: string): InFile[] {
  const names = readdirSync(join(place, 'blocks')).filter((name) => !name.startsWith('.'))
  return names.sort().map((name) => JSON.parse(readFileSync(join(place, 'blocks', name), 'utf8')) as InFile)
}

describe('processes on one local chain', () => {
  it(
    'append at once, in one order for all: no block twice, and none lost',
    async () => {
      const place = directory()
      const servers = await Promise.all([serve(place), serve(place)])
      const [one, two] = await Promise.all(servers.map(({ rpc }) => underTest(rpc)))
      if (one === undefined || two === undefined) throw new Error('there are two')
      expect(one.id).toBe(two.id)
      const contract = await deployedComponent(one)
      const hashes: string[] = []
      const posting = KEYS.map((key, at) => post(at === 1 ? two : one, contract, key, 15, hashes))
      await Promise.all(posting)
      const blocks = blocksOf(place)
      expect(blocks.map(({ number }) => number)).toEqual(Array.from({ length: 2 + 45 }, (_, number) => number))
      expect(blocks.slice(1).map(({ parent }) => parent)).toEqual(blocks.slice(0, -1).map(({ hash }) => hash))
      expect(blocks.every(({ time }, at) => at === 0 || time >= (blocks[at - 1]?.time ?? 0))).toBe(true)
      const fresh = createEvmNode(await open(place))
      for (const hash of hashes) expect(await fresh.fetchReceipt(hash)).toMatchObject({ succeeded: true })
      for (const { rpc } of servers) expect(await createEvmNode(rpc).fetchBlockNumber()).toBe(46)
    },
    SLOW_MS,
  )

  it('share an account: a nonce is used once, and the other is told', async () => {
    const place = directory()
    const under = await Promise.all([open(place), open(place)].map(async (rpc) => underTest(await rpc)))
    const [one, two] = under.map((chain) =>
      createEvmChain(chain.rpc, { id: chain.id, confirmations: 0 }).createAccount(FIRST),
    )
    const contract = await deployedComponent(under[0] as ChainUnderTest)
    const nonce = (await one?.fetchNextNonce()) ?? 0
    const signed = await Promise.all([
      one?.sign(contract, call('post(bytes)', '0x01'), 0n, nonce),
      two?.sign(contract, call('post(bytes)', '0x02'), 0n, nonce),
    ])
    const results = await Promise.allSettled([one?.submit(signed[0] as never), two?.submit(signed[1] as never)])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const outcomes = [await one?.fetchOutcome(signed[0] as never), await two?.fetchOutcome(signed[1] as never)]
    expect(outcomes.sort()).toEqual(['included', 'lost'])
  })

  it(
    'are killed while they append: what was acknowledged is there, and the chain goes on',
    async () => {
      const place = directory()
      const hashes: string[] = []
      let contract: Address | undefined
      for (const afterMs of [0, 4, 9, 15]) {
        const { rpc, kill } = await serve(place)
        const under = await underTest(rpc)
        contract ??= await deployedComponent(under)
        const posting = post(under, contract, FIRST, Number.POSITIVE_INFINITY, hashes)
        const before = hashes.length
        await expect.poll(() => hashes.length, { timeout: SLOW_MS, interval: 1 }).toBeGreaterThan(before + 1)
        await new Promise((resolve) => setTimeout(resolve, afterMs))
        await kill()
        await posting
      }
      expect(hashes.length).toBeGreaterThan(7)
      const rpc = await open(place)
      for (const hash of hashes) expect(await createEvmNode(rpc).fetchReceipt(hash)).toMatchObject({ succeeded: true })
      const under = await underTest(rpc)
      const account = createEvmChain(rpc, { id: under.id, confirmations: 0 }).createAccount(FIRST)
      expect(await sent(account, contract ?? '', call('post(bytes)', '0x03'))).toBe('included')
    },
    SLOW_MS,
  )
})

describe('the directory of a local chain', () => {
  async function withBlocks(): Promise<{ place: string; file: (number: number) => string }> {
    const place = directory()
    await deployedComponent(await underTest(await open(place)))
    return { place, file: (number) => join(place, 'blocks', `${number.toString().padStart(10, '0')}.json`) }
  }

  it('differs from every other: what was signed for one chain is refused by another', async () => {
    const [one, two] = await Promise.all([open(directory()), open(directory())])
    const [under, other] = await Promise.all([underTest(one), underTest(two)])
    expect(under.id).not.toBe(other.id)
    const account = createEvmChain(one, { id: under.id, confirmations: 0 }).createAccount(FIRST)
    const { raw } = await account.sign(await deployedComponent(other), call('post(bytes)', '0x01'), 0n, 0)
    await expect(two('eth_sendRawTransaction', [raw])).rejects.toThrow('invalid chain id')
  })

  it.each<[string, (text: string) => string]>([
    ['was cut', (text) => text.slice(0, 100)],
    ['was changed', (text) => text.replace(/"time": \d+/, '"time": 1')],
    ['is empty', () => ''],
    ['is not a block', () => '{"a": 1}'],
  ])('has a block that %s: it is named', async (_, change) => {
    const { place, file } = await withBlocks()
    writeFileSync(file(1), change(readFileSync(file(1), 'utf8')))
    await expect(open(place)).rejects.toThrow(/blocks: block 1 cannot be read/)
  })

  it('has a block of another chain: it is named, also by a process that runs already', async () => {
    const [{ place, file }, other] = await Promise.all([withBlocks(), withBlocks()])
    const running = await open(place)
    writeFileSync(file(2), readFileSync(other.file(1)))
    await expect(running('eth_blockNumber', [])).rejects.toThrow('block 2 does not follow on block 1')
    await expect(open(place)).rejects.toThrow('it is of another chain')
    await expect(fetchChainId(running)).rejects.toThrow('the chain cannot be asked')
  })

  it('lacks a block: the first that is missing is named', async () => {
    const { place, file } = await withBlocks()
    await (await open(place))('evm_mine', [])
    rmSync(file(1))
    await expect(open(place)).rejects.toThrow('block 1 is missing')
  })

  it('lost its newest block, or has another in its place: nothing is put above it', async () => {
    const { place, file } = await withBlocks()
    const running = await open(place)
    const text = readFileSync(file(1), 'utf8')
    rmSync(file(1))
    await expect(running('evm_mine', [])).rejects.toThrow('block 1 was changed or taken away since it was read')
    await (await open(place))('evm_mine', [])
    await expect(running('evm_mine', [])).rejects.toThrow('block 1 was changed or taken away since it was read')
    expect(existsSync(file(2))).toBe(false)
    writeFileSync(file(1), text)
    await running('evm_mine', [])
    expect(existsSync(file(2))).toBe(true)
  })

  it('has a file that is not a block: it is named; what a killed process left aside is not looked at', async () => {
    const { place } = await withBlocks()
    writeFileSync(join(place, 'blocks', '.123-abc'), 'half of a blo')
    expect(await (await open(place))('eth_blockNumber', [])).toBe('0x1')
    writeFileSync(join(place, 'blocks', 'notes.txt'), 'mine')
    await expect(open(place)).rejects.toThrow('notes.txt is not a block of a local chain: take it away')
  })

  it('keeps a component by its digest', async () => {
    const place = directory()
    const sha256 = await storeComponent(place, Buffer.from('component'))
    expect(await storeComponent(place, Buffer.from('component'))).toBe(sha256)
    expect(readFileSync(join(place, 'components', sha256), 'utf8')).toBe('component')
  })

  it('has time that never goes back, and an empty block lets it go on', async () => {
    let now = new Date('2030-01-01T00:00:10Z')
    const rpc = await open(directory(), () => now)
    const node = createEvmNode(rpc)
    const timeOf = async () => (await node.fetchBlock('latest'))?.time
    now = new Date('2030-01-01T00:00:05Z')
    await rpc('evm_mine', [])
    expect(await timeOf()).toEqual(new Date('2030-01-01T00:00:10Z'))
    now = new Date('2030-01-01T01:00:00Z')
    expect(await timeOf()).toEqual(new Date('2030-01-01T00:00:10Z'))
    await rpc('evm_mine', [])
    expect(await timeOf()).toEqual(now)
  })
})
