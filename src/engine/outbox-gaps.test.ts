import { describe, expect, it } from 'vitest'
import { ENGINE, type TestEngine } from '../../test/support/engine.ts'
import { closeAfterTest } from '../../test/support/engine-calls.ts'
import { include, pass, payloads, send, started } from '../../test/support/outbox.ts'

describe('a gap in the nonces', () => {
  /** Sends a transaction when the node says a nonce that is too high. */
  const sendAt = async (engine: TestEngine, nonce: number, words: string): Promise<void> => {
    engine.chain.nonce = nonce
    await send(engine, words)
    await engine.rounds()
    engine.chain.nonce = 0
  }
  /** Includes what the chain can include: transactions one after another. */
  const includeInOrder = async (engine: TestEngine): Promise<void> => {
    const { chain } = engine
    for (const { nonce, hash } of chain.submitted.toSorted((a, b) => a.nonce - b.nonce)) {
      if (nonce > chain.nonce) break
      chain.nonce = Math.max(chain.nonce, nonce + 1)
      chain.outcomes.set(hash, 'included')
    }
    chain.mine()
    await engine.rounds()
  }
  const gaps = ({ logLines }: TestEngine) => logLines.filter((line) => line.includes('nonces_have_gap'))

  it('is filled by the transactions that wait, after two minutes', async () => {
    const engine = await started()
    engine.chain.countsSubmitted = false
    await sendAt(engine, 2, 'a')
    await send(engine, 'b,c')
    await engine.rounds()
    expect(payloads(engine).map(([nonce]) => nonce)).toEqual([2, 3, 4])
    await send(engine, 'd,e')
    engine.clock.now = new Date(engine.clock.now.getTime() + 120_000)
    await engine.rounds()
    expect(payloads(engine).slice(-2)).toEqual([
      [0, 'd'],
      [1, 'e'],
    ])
    await includeInOrder(engine)
    expect(await engine.store.list('outbox')).toEqual([])
    expect(gaps(engine)).toEqual([])
  })

  it('is filled by empty transactions to the account itself where none waits, also after a restart', async () => {
    const engine = await started()
    engine.chain.countsSubmitted = false
    await sendAt(engine, 2, 'a')
    const restarted = await closeAfterTest(engine.restart())
    await restarted.rounds()
    await pass(restarted, 119)
    expect(gaps(restarted)).toEqual([])
    await pass(restarted, 1)
    expect(gaps(restarted)).toHaveLength(1)
    const fillers = engine.chain.submitted.filter(({ raw }) => raw.startsWith(ENGINE))
    expect(fillers.map(({ nonce }) => nonce)).toEqual([0, 1])
    await includeInOrder(restarted)
    expect(await restarted.store.list('outbox')).toEqual([])
    expect(
      payloads(restarted)
        .filter(([, payload]) => payload === 'a')
        .map(([nonce]) => nonce),
    ).not.toContain(0)
  })

  it('of hundreds is no reason to wait: what is above it is signed again, in order, and that three times at most', async () => {
    const engine = await started()
    engine.chain.countsSubmitted = false
    await sendAt(engine, 1000, 'a,b')
    await pass(engine, 1)
    await pass(engine, 120)
    const signed = [...new Set(payloads(engine).map((each) => each.join(' ')))]
    expect(signed).toEqual(['1000 a', '1001 b', '0 a', '1 b'])
    await includeInOrder(engine)
    expect(await engine.store.list('outbox')).toEqual([])
  })

  it('of hundreds that a node shows again and again has each transaction signed three times at most', async () => {
    const engine = await started()
    engine.chain.countsSubmitted = false
    await send(engine, 'a')
    const nonces = () => [...new Set(payloads(engine).map(([nonce]) => nonce))]
    for (let minutes = 0; minutes < 40; minutes++) {
      engine.clock.now = new Date(engine.clock.now.getTime() + 60_000)
      engine.chain.mine()
      await engine.task('chain')
      // The node says a number that is too high whenever a transaction is about to be signed.
      const isSigned =
        engine.logLines.filter((line) => line.includes('transaction_unreachable')).length < nonces().length
      engine.chain.nonce = isSigned ? 0 : 1000 * (nonces().length + 1)
      await engine.task('outbox')
    }
    expect(nonces()).toEqual([1000, 2000, 3000])
    expect(await engine.store.list('failed_transaction')).toHaveLength(1)
  })

  it('keeps no more than sixteen transactions from being sent', async () => {
    const engine = await started()
    engine.chain.countsSubmitted = false
    await sendAt(engine, 1000, 'a,a,a,a,a,a,a,a')
    await send(engine, 'a,a,a,a,a,a,a,a')
    await send(engine, 'b')
    await engine.rounds()
    expect(payloads(engine)).toHaveLength(16)
    await pass(engine, 120)
    expect(payloads(engine).at(-1)).toEqual([0, 'b'])
  })

  it('is filled to its end by transactions that come one at a time', async () => {
    const engine = await started()
    engine.chain.countsSubmitted = false
    await sendAt(engine, 3, 'a')
    await pass(engine, 1)
    await send(engine, 'b')
    await pass(engine, 120)
    await includeInOrder(engine)
    await send(engine, 'c')
    await pass(engine, 1)
    expect(payloads(engine).at(-1)).toEqual([1, 'c'])
  })

  it('that was none costs no more transactions: empty ones whose nonces were used are not signed again', async () => {
    const engine = await started()
    engine.chain.countsSubmitted = false
    engine.chain.defaultOutcome = () => 'lost'
    await sendAt(engine, 2, 'a')
    engine.chain.outcomes.set(engine.chain.submitted[0]?.hash ?? '', 'pending')
    await pass(engine, 1)
    await pass(engine, 120)
    include(engine)
    for (const { hash, nonce } of engine.chain.submitted) if (nonce < 2) engine.chain.outcomes.delete(hash)
    engine.chain.nonce = 3
    for (let minutes = 0; minutes < 10; minutes++) await pass(engine, 60)
    expect([...new Set(payloads(engine).map(([nonce]) => nonce))]).toEqual([2, 0, 1])
    expect(await engine.store.list('outbox')).toEqual([])
  })

  it('is not made by a number that no account has', async () => {
    const engine = await started()
    await sendAt(engine, Number.MAX_SAFE_INTEGER, 'a,b,c')
    await engine.rounds()
    expect(payloads(engine).map(([nonce]) => nonce)).toEqual([0, 1, 2])
  })

  it('is not believed while a node is some blocks behind', async () => {
    const engine = await started()
    engine.chain.countsSubmitted = false
    for (let block = 0; block < 20; block++) {
      await send(engine, 'a')
      // The node that is asked for the nonce lacks the last block.
      engine.chain.nonce = Math.max(0, block - 2)
      await pass(engine, 12)
      for (const { nonce, hash } of engine.chain.submitted)
        if (nonce < block) engine.chain.outcomes.set(hash, 'included')
      engine.chain.mine()
    }
    expect([gaps(engine), new Set(payloads(engine).map(([nonce]) => nonce)).size]).toEqual([[], 20])
  })
})
