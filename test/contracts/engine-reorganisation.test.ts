/** Tests an engine whose Hardhat node is reorganised, ends, falls behind, and comes back with another history. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { componentFile, deployComponent, keepComponent, nextContracts, place } from '../support/engine-contracts.ts'
import { FAULTY } from '../support/engine-faulty.ts'
import { type EngineProcess, eventually, makeEngine, waitUntilServed } from '../support/engine-process.ts'
import { HARDHAT_KEY, startHardhat } from '../support/hardhat.ts'

const STARTS_MS = 600_000
let file: string
const engines: EngineProcess[] = []
beforeAll(async () => {
  ;({ file } = await componentFile(FAULTY))
}, STARTS_MS)
afterAll(() => Promise.all(engines.map((engine) => engine.remove())))

it(
  'a chain that is reorganised, dies, is stale, and comes back',
  async () => {
    let hardhat = await startHardhat()
    const at = await place({ rpc: hardhat.url, money: HARDHAT_KEY })
    const contractFilter = await nextContracts(at)
    const engine = await makeEngine({
      chain: { type: 'evm', rpcUrl: hardhat.url, confirmations: 0, chainId: '31337', blocksOnDemand: true },
      ...{ contractFilter, pollMilliseconds: 50, staleSeconds: 1 },
    })
    engines.push(engine)
    keepComponent(engine, readFileSync(file))
    await engine.start()
    const before = await at.rpc('evm_snapshot', [])
    const contract = await deployComponent(at, 'Component', file, [engine])
    await waitUntilServed([engine], contract)
    const answer = async (): Promise<string> => {
      const response = await fetch(`${engine.url}/offchain/${contract}/x`)
      return response.headers.get('x-engine-error') ?? (await response.text())
    }
    const until = (text: string) => eventually(async () => (await answer()) === text, 20_000)
    await until('/x')
    await at.rpc('evm_revert', [before])
    await at.rpc('hardhat_mine', ['0x5'])
    await until('unknown-contract')
    expect(engine.log().some(({ event }) => event === 'reorganised')).toBe(true)
    expect(await deployComponent(at, 'Component', file, [engine])).toBe(contract)
    await until('/x')
    await hardhat.stop()
    await until('stale-chain')
    expect((await fetch(`${engine.url}/health/ready`)).status).toBe(503)
    expect((await fetch(`${engine.url}/health/live`)).status).toBe(200)
    // The node has another history, at the same place.
    hardhat = await startHardhat(hardhat.port)
    await until('unknown-contract')
    expect(await deployComponent(at, 'Component', file, [engine])).toBe(contract)
    await until('/x')
    await hardhat.stop()
  },
  STARTS_MS,
)
