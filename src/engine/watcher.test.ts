import { describe, expect, it } from 'vitest'
import { CONTRACT, ENGINE, serving, startEngine } from '../../test/support/engine.ts'
import { answer, closeAfterTest, saying } from '../../test/support/engine-calls.ts'

describe('the contracts of a chain', () => {
  it('are served as they come, change their component, and go', async () => {
    const engine = await closeAfterTest(startEngine())
    await engine.rounds()
    expect(await answer(engine)).toBe('unknown-contract')
    const [one, two] = [engine.runtime.add('one', saying('one')), engine.runtime.add('two', saying('two'))]
    for (const { sha256, bytes } of [one, two]) engine.files.set(sha256, bytes)
    engine.chain.set({ address: CONTRACT, component: { sha256: one.sha256, uri: '' } })
    await engine.rounds()
    expect(await answer(engine)).toBe('one')
    engine.chain.set({ address: CONTRACT, component: { sha256: two.sha256, uri: '' } })
    await engine.rounds()
    expect(await answer(engine)).toBe('two')
    engine.chain.set({ address: CONTRACT, engines: [] })
    await engine.rounds()
    expect(await answer(engine)).toBe('not-this-engine')
    engine.chain.set({ address: CONTRACT, engines: [{ address: ENGINE, endpoint: '' }] })
    await engine.rounds()
    expect(await answer(engine)).toBe('two')
    engine.chain.remove(CONTRACT)
    await engine.rounds()
    expect(await answer(engine)).toBe('unknown-contract')
  })

  it('are only those of the filter', async () => {
    const other = `00${'d2'.repeat(20)}`
    const engine = await closeAfterTest(
      serving(saying('yes'), { settings: { contractFilter: [`0x${'c1'.repeat(20)}`] } }),
    )
    engine.chain.set({ address: other, component: { sha256: [...engine.files.keys()][0] ?? '', uri: '' } })
    await engine.rounds()
    expect(await answer(engine)).toBe('yes')
    expect(await answer(engine, `/offchain/${other}`)).toBe('unknown-contract')
  })

  it('may leave it to the operator which component is theirs', async () => {
    const engine = await closeAfterTest(startEngine())
    const { sha256, bytes } = engine.runtime.add('named', saying('named'))
    engine.files.set(sha256, bytes)
    const named = await closeAfterTest(
      startEngine({ from: engine, settings: { components: { [CONTRACT]: sha256.toUpperCase() } } }),
    )
    engine.chain.set({ address: CONTRACT })
    await engine.rounds()
    await named.rounds()
    expect([await answer(engine), await answer(named)]).toEqual(['unknown-contract', 'named'])
  })

  it('are answered at the block of the last look, which the answer names', async () => {
    const engine = await closeAfterTest(serving(saying('x')))
    engine.chain.mine()
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('1')
    await engine.rounds()
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('2')
  })

  it('changes nothing of what is served when a look fails', async () => {
    const engine = await closeAfterTest(serving(saying('still')))
    const changed = engine.chain.listChanged.bind(engine.chain)
    engine.chain.listChanged = () => Promise.reject(new Error('not now'))
    engine.chain.mine([CONTRACT])
    await engine.rounds()
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('1')
    engine.chain.listChanged = changed
    await engine.rounds()
    expect((await engine.engine.app.inject(engine.url)).headers['x-engine-block']).toBe('2')
  })
})
