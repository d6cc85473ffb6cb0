/** Tests that what an engine serves follows what contracts say, while it runs; and where it takes components from. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Address, evmAddress } from '../../src/offchain/address.ts'
import { componentFile, deployComponent, keepComponent, type Place, place, send } from '../support/engine-contracts.ts'
import {
  contractOf,
  type EngineProcess,
  eventually,
  makeDirectory,
  makeEngine,
  waitUntilServed,
} from '../support/engine-process.ts'

const STARTS_MS = 600_000
const saying = (word: string) =>
  componentFile(
    `import { component, text } from 'vouchsafe/component'\ncomponent({ http: () => text(200, '${word}') })`,
  )
type Made = Awaited<ReturnType<typeof saying>>

let at: Place
let engine: EngineProcess
let narrow: EngineProcess
let one: Made
let two: Made
let handed: Uint8Array
const files = createServer((_request, response) => response.end(handed))
const filesUrl = (): string => `http://127.0.0.1:${(files.address() as AddressInfo).port}/component.js`

beforeAll(async () => {
  await new Promise((resolve) => files.listen(0, '127.0.0.1', () => resolve(undefined)))
  const dir = makeDirectory('chain')
  at = await place({ dir })
  ;[one, two] = await Promise.all([saying('one'), saying('two')])
  const chain = { type: 'local', directory: dir }
  const allow = [new URL(filesUrl()).host]
  engine = await makeEngine({ chain, outbound: { allow, allowPrivateAddresses: true } })
  narrow = await makeEngine({ chain, contractFilter: [`0x${'ab'.repeat(20)}`] })
  await Promise.all([engine.start(), narrow.start()])
}, STARTS_MS)
afterAll(async () => {
  await Promise.all([engine.remove(), narrow.remove()])
  files.close()
})

async function said(contract: Address, by = engine): Promise<string> {
  const response = await fetch(`${by.url}/offchain/${contract}/`)
  const own = response.headers.get('x-engine-error')
  return own === null ? response.text() : `${response.status} ${own}`
}
const until = (contract: Address, text: string) => eventually(async () => (await said(contract)) === text)
const change = (contract: Address, method: string, ...args: Parameters<typeof send>[4][number][]) =>
  send(at, contract, 'Component', method, args)

it('a contract that comes, changes its component, and leaves its engine, while the engine runs', async () => {
  const contract = await deployComponent(at, 'Component', one.file, [engine])
  await until(contract, 'one')
  keepComponent(engine, two.bytes)
  await change(contract, 'setComponent', `0x${two.sha256}`, '')
  await until(contract, 'two')
  await change(contract, 'setEngines', [{ engine: evmAddress(narrow.address), endpoint: narrow.url }])
  await until(contract, '421 not-this-engine')
  await change(contract, 'setEngines', [{ engine: evmAddress(engine.address), endpoint: engine.url }])
  await until(contract, 'two')
})

it('a contract that lists an engine whose filter does not have it is not served there', async () => {
  const contract = await deployComponent(at, 'Component', one.file, [engine, narrow])
  await until(contract, 'one')
  expect(await said(contract, narrow)).toBe('404 unknown-contract')
  expect(await contractOf(narrow, contract)).toBeUndefined()
})

it('a component that is missing, or whose bytes are others, is said to be so, and comes back when it is there', async () => {
  const three = await saying('three')
  const contract = await deployComponent(at, 'Component', undefined, [engine])
  await change(contract, 'setComponent', `0x${three.sha256}`, '')
  const why = async () => {
    const status = await contractOf(engine, contract)
    return status?.component === three.sha256 && status.state === 'failed' ? status.why : undefined
  }
  expect(await eventually(why)).toContain(`put it into components/${three.sha256}`)
  expect(await said(contract)).toBe('503 component-unavailable')
  const { writeFileSync } = await import('node:fs')
  writeFileSync(`${engine.directory}/components/${three.sha256}`, 'others')
  expect(await eventually(async () => (await why())?.includes('other bytes than its name says'))).toBe(true)
  keepComponent(engine, three.bytes)
  await until(contract, 'three')
})

it('a component is fetched from a host that is allowed, and refused when it is another', async () => {
  const four = await saying('four')
  handed = two.bytes
  const contract = await deployComponent(at, 'Component', undefined, [engine])
  await change(contract, 'setComponent', `0x${four.sha256}`, 'https://elsewhere.example/c.js')
  const why = async (part: string) => (await contractOf(engine, contract))?.why?.includes(part)
  expect(await eventually(() => why('outbound.allow does not have the host'))).toBe(true)
  await change(contract, 'setComponent', `0x${four.sha256}`, filesUrl())
  expect(await eventually(() => why('is not the component'))).toBe(true)
  expect(await said(contract)).toBe('503 component-unavailable')
  handed = four.bytes
  await until(contract, 'four')
  await waitUntilServed([engine], contract)
})
