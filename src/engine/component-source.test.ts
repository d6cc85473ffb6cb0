import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { CONTRACT, startEngine } from '../../test/support/engine.ts'
import { answer, closedAfterwards, contractsOf, later, saying } from '../../test/support/engine-calls.ts'
import { ChainError } from '../chain/chain.ts'
import type { HttpClientRequest } from '../http/outbound.ts'
import { SourceError } from './component-source.ts'

describe('the component of a contract', () => {
  it('is a visible failure while its file cannot be used', async () => {
    let isUsable = false
    const files = new Map<string, Uint8Array>()
    files.get = () => {
      if (isUsable) return Buffer.from('right')
      throw new SourceError('the file has other bytes than its name says')
    }
    const engine = closedAfterwards(await startEngine({ from: { files } }))
    const { sha256 } = engine.runtime.add('right', saying('right'))
    engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' } })
    await engine.rounds()
    expect(await answer(engine)).toBe('component-unavailable')
    const contracts = await contractsOf(engine)
    expect(contracts[0]).toMatchObject({ state: 'failed' })
    expect(JSON.stringify(contracts)).toContain('other bytes')
    expect(await engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_contracts{state="failed"} 1')
    expect(engine.logLines.filter((line) => line.includes('component_unavailable'))).toHaveLength(1)
    isUsable = true
    engine.clock.aheadMs = -3_600_000
    later(engine, 5)
    await engine.rounds()
    expect(await answer(engine)).toBe('right')
  })

  it('must be one that can be run', async () => {
    const engine = closedAfterwards(await startEngine())
    const bytes = Buffer.from('nonsense')
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    engine.files.set(sha256, bytes)
    engine.chain.set({ address: CONTRACT, component: { sha256, uri: '' } })
    await engine.rounds()
    expect(await answer(engine)).toBe('component-unavailable')
  })

  it('is fetched from where its contract says, if the operator allows that host, and kept', async () => {
    const asked: HttpClientRequest[] = []
    let body = Buffer.from('forged')
    const outbound = (request: HttpClientRequest) => {
      asked.push(request)
      return Promise.resolve({ status: 200, headers: {}, body })
    }
    const settings = { outbound: { allow: ['files.example'] } }
    const engine = closedAfterwards(await startEngine({ outbound, settings }))
    const { sha256 } = engine.runtime.add('fetched', saying('fetched'))
    engine.chain.set({ address: CONTRACT, component: { sha256, uri: 'https://elsewhere.example/c' } })
    await engine.rounds()
    expect([await answer(engine), asked.length]).toEqual(['component-unavailable', 0])
    engine.chain.set({ address: CONTRACT, component: { sha256, uri: 'https://files.example/c' } })
    await engine.rounds(1)
    expect([await answer(engine), asked.length, engine.files.size]).toEqual(['component-unavailable', 1, 0])
    expect(asked[0]).toMatchObject({ allowPrivateAddresses: false, maxBytes: 8 * 1024 * 1024 })
    body = Buffer.from('fetched')
    later(engine, 5)
    await engine.rounds()
    expect([await answer(engine), engine.files.has(sha256)]).toEqual(['fetched', true])
  })

  it('is read once and kept once in memory for all contracts that name it', async () => {
    const files = new Map<string, Uint8Array>()
    let reads = 0
    files.get = () => {
      reads++
      return Buffer.from('same')
    }
    const engine = closedAfterwards(await startEngine({ from: { files } }))
    const { sha256 } = engine.runtime.add('same', saying('same'))
    const addresses = ['d2', 'd3', 'd4'].map((byte) => `00${byte.repeat(20)}`)
    const serve = (address: string): void => engine.chain.set({ address, component: { sha256, uri: '' } })
    for (const address of addresses.slice(0, 2)) serve(address)
    await engine.rounds()
    for (const address of addresses.slice(2)) serve(address)
    await engine.rounds()
    const answers = await Promise.all(addresses.map((each) => engine.engine.app.inject(`/offchain/${each}`)))
    expect([answers.map(({ body }) => body), reads]).toEqual([['same', 'same', 'same'], 1])
  })

  it('stays in its place after a start for as long as its contract could not be read, for an hour at most', async () => {
    const other = `00${'d2'.repeat(20)}`
    let body = 'first'
    const outbound = () => Promise.resolve({ status: 200, headers: {}, body: Buffer.from(body) })
    const settings = { outbound: { allow: ['files.example'] } }
    const engine = closedAfterwards(await startEngine({ outbound, settings }))
    const [first, second, third] = ['first', 'second', 'third'].map((words) => engine.runtime.add(words, saying(words)))
    const name = (address: string, component: { readonly sha256: string } | undefined): void =>
      engine.chain.set({ address, component: { sha256: component?.sha256 ?? '', uri: 'https://files.example/c' } })
    name(CONTRACT, first)
    await engine.rounds()
    expect(await answer(engine)).toBe('first')

    const fetchContract = engine.chain.fetchContract.bind(engine.chain)
    engine.chain.fetchContract = (address, block) =>
      address === CONTRACT ? Promise.reject(new ChainError('too many requests')) : fetchContract(address, block)
    const restarted = closedAfterwards(await engine.restart())
    const fetchOther = async (words: string, component: { readonly sha256: string } | undefined) => {
      body = words
      name(other, component)
      await restarted.rounds()
      return engine.files.has(first?.sha256 ?? '')
    }
    expect(await fetchOther('second', second)).toBe(true)
    later(engine, 3600)
    expect(await fetchOther('third', third)).toBe(false)
  })

  it('is served where it cannot be kept, is fetched once, and the log says so once', async () => {
    let fetched = 0
    const outbound = () => {
      fetched++
      return Promise.resolve({ status: 200, headers: {}, body: Buffer.from('full') })
    }
    const files = new Map<string, Uint8Array>()
    files.set = () => {
      throw new SourceError('components: there is no room')
    }
    const settings = { outbound: { allow: ['files.example'] } }
    const engine = closedAfterwards(await startEngine({ outbound, settings, from: { files } }))
    const { sha256 } = engine.runtime.add('full', saying('served'))
    engine.chain.set({ address: CONTRACT, component: { sha256, uri: 'https://files.example/c' } })
    await engine.rounds(5)
    expect([await answer(engine), fetched, files.size]).toEqual(['served', 1, 0])
    const warnings = engine.logLines.filter((line) => line.includes('component_not_kept'))
    expect(warnings).toHaveLength(1)
    expect(JSON.parse(warnings[0] ?? '')).toMatchObject({ level: 40, sha256, why: 'components: there is no room' })
  })
})
