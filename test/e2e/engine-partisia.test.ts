/**
 * An engine on a reader node of Partisia Blockchain, whose answers were made after its published interface: no live
 * node was asked.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { accountOfKey } from '../../src/offchain/authentication/recover.ts'
import { componentFile, keepComponent } from '../support/engine-contracts.ts'
import { contractOf, type EngineProcess, eventually, makeEngine } from '../support/engine-process.ts'

const OURS = `02${'11'.repeat(20)}`
const THEIRS = `02${'22'.repeat(20)}`
const COMPONENT = `import { addressOf, component, text } from 'vouchsafe/component'
component({
  http: (request, context) => text(200, context.contract + ' ' + context.chainId),
  engines: (state) => [{ address: addressOf(state.slice(1)), endpoint: '' }],
})`

let engine: EngineProcess
let height = 100
/** The address that the state of each contract has after its first byte. */
const states = new Map<string, string>()
const reader = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://reader')
  const block = { identifier: `b${height}`, blockTime: height, productionTime: Date.now() }
  const [, contract = ''] = /^\/chain\/contracts\/([0-9a-f]{42})$/.exec(pathname) ?? []
  const state = searchParams.get('blockTime') === null ? undefined : states.get(contract)
  const answers: Record<string, unknown> = {
    '/chain': { chainId: 'Testnet', shards: ['Shard0'] },
    '/chain/shards/Shard0/blocks': block,
    ...(state === undefined
      ? {}
      : { [pathname]: { serializedContract: Buffer.from(`07${state}`, 'hex').toString('base64') } }),
  }
  const isBlock = /^\/chain\/shards\/Shard0\/blocks\/b\d+$/.test(pathname)
  const answer = isBlock ? block : answers[pathname]
  response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(answer ?? {}))
})

beforeAll(async () => {
  await new Promise((resolve) => reader.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { sha256, bytes } = await componentFile(COMPONENT)
  const readerUrl = `http://127.0.0.1:${(reader.address() as AddressInfo).port}`
  const components = { [OURS]: sha256, [THEIRS]: sha256 }
  engine = await makeEngine({ chain: { type: 'partisia', readerUrl }, components, pollMilliseconds: 50 })
  keepComponent(engine, bytes)
  states.set(OURS, accountOfKey(engine.key, 'partisia')).set(THEIRS, `00${'33'.repeat(20)}`)
  await engine.start()
})
afterAll(async () => {
  await engine.remove()
  reader.close()
  reader.closeAllConnections()
})

it('the component reads from the state of its contract who runs it', async () => {
  const ask = async (contract: string): Promise<string> => {
    const response = await fetch(`${engine.url}/offchain/${contract}/`)
    return response.headers.get('x-engine-error') ?? (await response.text())
  }
  const until = (contract: string, text: string) => eventually(async () => (await ask(contract)) === text)
  await until(OURS, `${OURS} Testnet`)
  await until(THEIRS, 'not-this-engine')
  expect(await contractOf(engine, OURS)).toMatchObject({ state: 'served' })
  states.set(OURS, `00${'33'.repeat(20)}`).set(THEIRS, accountOfKey(engine.key, 'partisia'))
  height++
  await until(OURS, 'not-this-engine')
  await until(THEIRS, `${THEIRS} Testnet`)
})
