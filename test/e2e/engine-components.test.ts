/** Both components with their contracts, in three engines that are processes of their own, on a Hardhat node. */
import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { downloadSecret } from '../../sdk/client/download.ts'
import { keyPackage, signTogether } from '../../sdk/client/key-management.ts'
import { deleteSecret, type SecretSharing, sharingStatus } from '../../sdk/client/secret-sharing.ts'
import { signingEngines } from '../../sdk/client/signing-engines.ts'
import { prepareUpload, upload } from '../../sdk/client/upload.ts'
import { readArtifact } from '../../src/bin/chain/artifact.ts'
import { decodeAnswer, encodeCall } from '../../src/chain/evm/abi.ts'
import { type Address, evmAddress } from '../../src/offchain/address.ts'
import { vouchsafe } from '../support/command.ts'
import {
  deployComponent,
  keepComponent,
  nextContracts,
  ownerOf,
  type Place,
  place,
  send,
} from '../support/engine-contracts.ts'
import {
  type EngineProcess,
  eventually,
  makeDirectory,
  makeEngine,
  waitUntilServed,
} from '../support/engine-process.ts'
import { HARDHAT_KEY, type Hardhat, startHardhat } from '../support/hardhat.ts'

const DIST = join(import.meta.dirname, '..', '..', 'dist', 'components')
const SHARING = join(DIST, 'secret-sharing.js')
const KEYS = join(DIST, 'key-management.js')
const MESSAGE = new TextEncoder().encode('pay 10 to somebody')
const STARTS_MS = 600_000
/** The time between blocks on Hardhat, and between two looks of an engine at them. */
const BLOCK_MS = 300

interface World {
  readonly at: Place
  /** The words by which the command finds the chain. */
  readonly words: readonly string[]
  readonly engines: readonly EngineProcess[]
  readonly sharing: Address
  readonly keys: Address
  stop(): Promise<void>
}

/**
 * Starts a world on Hardhat, whose contracts are known to the engines by a filter that has their addresses before they
 * are there.
 */
async function onHardhat(): Promise<World> {
  const node: Hardhat = await startHardhat()
  const at = await place({ rpc: node.url, money: HARDHAT_KEY })
  const chain = { type: 'evm', rpcUrl: node.url, confirmations: 1 }
  const contractFilter = await nextContracts(at)
  const engines = await started({ chain, contractFilter, pollMilliseconds: BLOCK_MS })
  for (const { address } of engines) {
    await at.rpc('hardhat_setBalance', [evmAddress(address), '0xde0b6b3a7640000'])
  }
  for (const engine of engines) for (const file of [SHARING, KEYS]) keepComponent(engine, readFileSync(file))
  const sharing = await deployComponent(at, 'SecretSharing', SHARING, engines)
  const keys = await deployComponent(at, 'KeyManagement', KEYS, engines)
  expect([sharing, keys].map(evmAddress)).toEqual(contractFilter)
  // The blocks go on, as on a chain that others use too.
  const mining = setInterval(() => void at.rpc('evm_mine', []).catch(() => undefined), BLOCK_MS)
  const stop = async (): Promise<void> => {
    clearInterval(mining)
    await Promise.all(engines.map((engine) => engine.remove()))
    await node.stop()
  }
  return { at, engines, sharing, keys, words: ['--rpc', node.url], stop }
}

async function started(settings: Record<string, unknown>): Promise<readonly EngineProcess[]> {
  const engines = await Promise.all([0, 1, 2].map(() => makeEngine(settings)))
  await Promise.all(engines.map((engine) => engine.start()))
  return engines
}

describe('three engines on a Hardhat node', () => {
  let world: World
  let owner: SecretSharing
  beforeAll(async () => {
    world = await onHardhat()
    owner = ownerOf(world.at, world.sharing)
    for (const contract of [world.sharing, world.keys]) await waitUntilServed(world.engines, contract)
  }, STARTS_MS)
  afterAll(() => world.stop(), STARTS_MS)

  const first = (): EngineProcess => world.engines[0] as EngineProcess
  const third = (): EngineProcess => world.engines[2] as EngineProcess

  it('keep a secret, and give it back when one of them is killed; the audit log names the owner', async () => {
    const secret = randomBytes(1000)
    const prepared = await prepareUpload(owner, { secret, threshold: 2, id: 7n })
    const { complete } = await upload(owner, prepared)
    expect(complete).toBe(true)
    const { secret: whole } = await downloadSecret(owner, { id: 7n, askAll: true })
    expect(Buffer.from(whole)).toEqual(secret)
    const signed = first()
      .log()
      .filter(({ event }) => event === 'signed_request')
    expect(signed.length).toBeGreaterThanOrEqual(2)
    for (const { signers } of signed) expect(signers).toEqual([owner.signer.address])
    const logged = world.engines.map((engine) => JSON.stringify(engine.log())).join()
    for (const share of prepared.shares) expect(logged).not.toContain(share)
    await third().kill()
    const { secret: again } = await downloadSecret(owner, { id: 7n })
    expect(Buffer.from(again)).toEqual(secret)
    await third().start()
    await waitUntilServed([third()], world.sharing)
  })

  it('forget it when its owner says so', async () => {
    const done = await upload(owner, await prepareUpload(owner, { secret: randomBytes(9), threshold: 3, id: 8n }))
    expect(done.complete).toBe(true)
    await deleteSecret(owner, 8n)
    expect(await eventually(async () => (await sharingStatus(owner.client, 8n)) === undefined)).toBe(true)
    await expect(downloadSecret(owner, { id: 8n })).rejects.toThrow()
  })

  it('keep one that a person puts and gets by the command', async () => {
    const directory = makeDirectory('secret')
    const words = [...world.words, '--contract', evmAddress(world.sharing), '--key', world.at.keyFile]
    const file = join(directory, 'got')
    const put = await vouchsafe(['secret', 'put', '--id', '9', '--file', SHARING, '--json', ...words])
    expect(put).toMatchObject({ status: 0, stderr: '' })
    const got = await vouchsafe(['secret', 'get', '--id', '9', '--out', file, ...words])
    expect(got.status).toBe(0)
    expect(digest(readFileSync(file))).toBe(digest(readFileSync(SHARING)))
    rmSync(join(directory, '..'), { recursive: true })
  })

  it('make a key that none of them has, and sign with it: as its policy says, and when one is killed', async () => {
    const { at, keys: contract } = world
    const signer = ownerOf(at, contract)
    const policy = (signers: readonly Address[]) => ({
      signers: signers.map(evmAddress),
      notAfter: '0',
      sharesPerDay: '0',
      prefix: `0x${Buffer.from('pay').toString('hex')}`,
    })
    await send(at, contract, 'KeyManagement', 'createKey', ['1', '2', policy([signer.signer.address])])
    const { publicKey } = await eventually(async () => {
      const key = (await ask(world, 'key', ['1'])) as { status: string; publicKey: string; reason: string }
      expect(key.reason).toBe('')
      return key.status === '4' && key
    })
    const commitments = (await ask(world, 'commitments', ['1'])) as string[]
    const key = keyPackage(commitments.map(fromHex), 2, fromHex(publicKey))
    const asked = await signingEngines(signer)
    const x = Buffer.from(fromHex(publicKey)).toString('base64url')
    const verifier = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    const { signature, faults } = await signTogether(1n, MESSAGE, key, asked)
    expect(faults).toEqual([])
    expect(verify(null, MESSAGE, verifier, signature)).toBe(true)

    await first().kill()
    const without = await signTogether(1n, MESSAGE, key, asked)
    expect(verify(null, MESSAGE, verifier, without.signature)).toBe(true)
    expect(without.faults.map(({ engine }) => engine)).toEqual([first().url])
    await first().start()
    await waitUntilServed([first()], contract)

    const other = new TextEncoder().encode('take 10')
    await expect(signTogether(1n, other, key, asked)).rejects.toThrow('fewer than 2 engines signed')
    await send(at, contract, 'KeyManagement', 'setPolicy', ['1', policy([])])
    const denied = () =>
      signTogether(1n, MESSAGE, key, asked).then(
        () => undefined,
        (error: unknown) => (error as Error).message,
      )
    expect(await eventually(denied)).toContain('refused (401)')
  })
})

async function ask({ at: { chain }, keys }: World, method: string, args: readonly string[]): Promise<unknown> {
  const item = readArtifact('KeyManagement').abi.find((each) => each.type === 'function' && each.name === method)
  if (item === undefined) throw new Error(`there is no ${method}`)
  return decodeAnswer(item, await chain.read(keys, encodeCall(item, args), await chain.fetchHead()))
}

function fromHex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(2), 'hex'))
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
