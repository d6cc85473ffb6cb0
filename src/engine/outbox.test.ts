import { describe, expect, it, vi } from 'vitest'
import { closeAfterTest } from '../../test/support/engine-calls.ts'
import { include, pass, payloads, send, sending, started } from '../../test/support/outbox.ts'
import { ChainError } from '../chain/chain.ts'
import { END_OF_TIME } from '../store/store.ts'

const OTHER = `00${'d2'.repeat(20)}`
/** Serves another contract too. */
const withTwo = async () => {
  const engine = await started()
  const { sha256, bytes } = engine.runtime.add('another', sending)
  engine.files.set(sha256, bytes)
  engine.chain.set({ address: OTHER, component: { sha256, uri: '' } })
  await engine.rounds()
  return engine
}

describe('the outbox', () => {
  it('sends in order, with nonces one after another, and lets go of what is included', async () => {
    const engine = await started()
    await send(engine, 'a,b')
    await send(engine, 'c')
    await engine.rounds()
    expect(payloads(engine)).toEqual([
      [0, 'a'],
      [1, 'b'],
      [2, 'c'],
    ])
    expect(await engine.store.list('outbox')).toHaveLength(3)
    include(engine)
    await engine.rounds()
    expect(await engine.store.list('outbox')).toEqual([])
    expect(await engine.store.list('failed_transaction')).toEqual([])
    expect(payloads(engine)).toHaveLength(3)
  })

  it('sends on while what it sent is in blocks that it has not reached, and no more than sixteen that no block has', async () => {
    const engine = await started()
    const words = Array.from({ length: 40 }, (_, index) => `w${index}`).join(',')
    await send(engine, words)
    await engine.rounds()
    expect(payloads(engine)).toHaveLength(16)
    for (const { hash } of engine.chain.submitted) engine.chain.outcomes.set(hash, 'unconfirmed')
    await pass(engine, 12)
    expect(payloads(engine)).toHaveLength(32)
    // Only the transactions that no block has are sent again.
    await pass(engine, 60)
    expect(
      payloads(engine)
        .slice(32)
        .map(([nonce]) => nonce),
    ).toEqual(Array.from({ length: 16 }, (_, at) => 16 + at))
    // Blocks that were taken back make their transactions wait again.
    engine.chain.outcomes.clear()
    await pass(engine, 60)
    expect(Math.max(...payloads(engine).map(([nonce]) => Number(nonce)))).toBe(31)
  })

  it('asks of sixteen transactions in unconfirmed blocks at a look, and of the next ones when those are confirmed', async () => {
    const engine = await started()
    await send(engine, Array.from({ length: 48 }, (_, index) => `w${index}`).join(','))
    await engine.rounds()
    for (let looks = 0; looks < 3; looks += 1) {
      for (const { hash } of engine.chain.submitted) engine.chain.outcomes.set(hash, 'unconfirmed')
      await pass(engine, 12)
    }
    expect(payloads(engine)).toHaveLength(48)
    const looked = vi.spyOn(engine.chain.outcomes, 'get')
    await pass(engine, 12)
    const hashes = engine.chain.submitted.slice(0, 16).map(({ hash }) => hash)
    expect(looked.mock.calls.map(([hash]) => hash).toSorted()).toEqual(hashes.toSorted())
    include(engine)
    await engine.rounds()
    expect(await engine.store.list('outbox')).toEqual([])
  })

  it('sends in order also when the clock was set back in between, and after a restart', async () => {
    const engine = await started()
    engine.chain.refuses = () => {
      throw new ChainError('the node is busy', { kind: 'failed' })
    }
    await send(engine, 'a')
    engine.clock.aheadMs = -3_600_000
    await send(engine, 'b,c')
    engine.clock.aheadMs = -7_200_000
    const restarted = await closeAfterTest(engine.restart())
    await restarted.rounds()
    await send(restarted, 'd')
    engine.chain.refuses = () => undefined
    await pass(restarted, 300)
    expect(payloads(restarted)).toEqual(['a', 'b', 'c', 'd'].map((payload, nonce) => [nonce, payload]))
  })

  it('takes contracts in turn, so that many of one, or such as are refused, do not keep another waiting', async () => {
    const engine = await withTwo()
    engine.chain.refuses = (payload) => (Buffer.from(payload).toString() === 'no' ? 'refused' : undefined)
    for (let calls = 0; calls < 6; calls += 1) await send(engine, 'a,no,a,a,a,a,a')
    await engine.engine.app.inject({ method: 'POST', url: `/offchain/${OTHER}/mine` })
    await engine.rounds()
    expect(payloads(engine).map(([, payload]) => payload)).toContain('mine')
  })

  it('sends what is signed before many of another contract have been refused', async () => {
    const engine = await withTwo()
    let refusals = 0
    engine.chain.refuses = (payload) => {
      if (Buffer.from(payload).toString() !== 'no') return undefined
      refusals++
      return 'refused'
    }
    for (let calls = 0; calls < 5; calls += 1) await send(engine, Array<string>(16).fill('no').join())
    await engine.engine.app.inject({ method: 'POST', url: `/offchain/${OTHER}/mine` })
    await engine.task('outbox')
    expect([payloads(engine), refusals < 40]).toEqual([[[0, 'mine']], true])
    await engine.rounds()
    expect([refusals, (await engine.store.list('failed_transaction')).length]).toEqual([80, 80])
  })

  it('sends the same transaction, and never a second one, when it was killed before it was sent', async () => {
    const engine = await started()
    const isAboutToBeSent = new Promise<void>((resolve) => {
      engine.chain.onSubmit = () => {
        resolve()
        return new Promise(() => undefined)
      }
    })
    await send(engine, 'a')
    void engine.rounds()
    await isAboutToBeSent
    expect(engine.chain.submitted).toEqual([])
    engine.chain.onSubmit = () => Promise.resolve()
    let signed = 0
    engine.chain.refuses = () => {
      signed++
      return undefined
    }
    const restarted = await closeAfterTest(engine.restart())
    await restarted.rounds()
    expect([payloads(restarted), signed]).toEqual([[[0, 'a']], 0])
  })

  it('sends the same transaction when it was killed after it was sent, whether it is included by then or not', async () => {
    const engine = await started()
    await send(engine, 'a')
    await engine.rounds()
    const [first] = engine.chain.submitted
    const restarted = await closeAfterTest(engine.restart())
    await restarted.rounds()
    expect(new Set(engine.chain.submitted.map(({ raw }) => raw))).toEqual(new Set([first?.raw]))
    include(engine)
    const again = await closeAfterTest(engine.restart())
    const before = engine.chain.submitted.length
    await again.rounds()
    expect(engine.chain.submitted).toHaveLength(before)
    expect(await again.store.list('outbox')).toEqual([])
  })

  it('goes on with others while the chain does not say what became of one, and says so once', async () => {
    const engine = await started()
    await send(engine, 'a')
    await engine.rounds()
    const [first] = engine.chain.submitted
    const { outcomes } = engine.chain
    const get = outcomes.get.bind(outcomes)
    outcomes.get = (hash) => {
      if (hash === first?.hash) throw new ChainError('the answer is too large', { kind: 'failed' })
      return get(hash)
    }
    await send(engine, 'b')
    await pass(engine, 1)
    expect(payloads(engine)).toEqual([
      [0, 'a'],
      [1, 'b'],
    ])
    include(engine)
    await pass(engine, 31)
    expect(await engine.store.list('outbox')).toHaveLength(1)
    expect(engine.logLines.filter((line) => line.includes('"transaction_unread"'))).toHaveLength(1)
    outcomes.get = get
    await pass(engine, 300)
    expect([await engine.store.list('outbox'), engine.chain.submitted.length]).toEqual([[], 2])
  })

  it('sends once more what nobody has included for a while, the same bytes', async () => {
    const engine = await started()
    await send(engine, 'a')
    await engine.rounds()
    engine.clock.now = new Date(engine.clock.now.getTime() + 31_000)
    engine.chain.mine()
    await engine.rounds()
    expect(engine.chain.submitted).toHaveLength(2)
    expect(new Set(engine.chain.submitted.map(({ raw }) => raw)).size).toBe(1)
  })

  it('signs anew what is lost, once the node has said so for two minutes', async () => {
    const engine = await started()
    await send(engine, 'a')
    await engine.rounds()
    const [first] = engine.chain.submitted
    engine.chain.outcomes.set(first?.hash ?? '', 'lost')
    engine.chain.nonce = 5
    engine.chain.mine()
    await engine.rounds()
    await pass(engine, 119)
    expect(payloads(engine)).toEqual([[0, 'a']])
    await pass(engine, 1)
    expect(payloads(engine)).toEqual([
      [0, 'a'],
      [5, 'a'],
    ])
  })

  it('measures its patience by no clock that is set: neither ahead nor back makes it shorter or longer', async () => {
    const engine = await started()
    await send(engine, 'a')
    await engine.rounds()
    engine.chain.outcomes.set(engine.chain.submitted[0]?.hash ?? '', 'lost')
    await pass(engine, 1)
    engine.clock.aheadMs = 86_400_000
    await pass(engine, 60)
    expect(payloads(engine)).toEqual([[0, 'a']])
    engine.clock.aheadMs = -86_400_000
    await pass(engine, 60)
    expect(payloads(engine)).toEqual([
      [0, 'a'],
      [1, 'a'],
    ])
  })

  it('gives no nonce of an included transaction again where a node is late; believes a node that says so for two minutes', async () => {
    const engine = await started()
    engine.chain.countsSubmitted = false
    await send(engine, 'a')
    await engine.rounds()
    include(engine)
    await engine.rounds()
    await send(engine, 'b')
    await engine.rounds()
    expect(payloads(engine)).toEqual([
      [0, 'a'],
      [1, 'b'],
    ])
    include(engine)
    await engine.rounds()
    await pass(engine, 120)
    await send(engine, 'c')
    await engine.rounds()
    expect(payloads(engine).at(-1)).toEqual([0, 'c'])
  })

  it('signs nothing anew where a node is only late with what it says', async () => {
    const engine = await started()
    await send(engine, 'a')
    await engine.rounds()
    const [first] = engine.chain.submitted
    for (let times = 0; times < 5; times++) {
      engine.chain.outcomes.set(first?.hash ?? '', 'lost')
      await pass(engine, 60)
      engine.chain.outcomes.set(first?.hash ?? '', 'pending')
      await pass(engine, 60)
    }
    expect(new Set(payloads(engine).map(([nonce]) => nonce))).toEqual(new Set([0]))
  })

  it('signs a transaction three times at most where the node says each time that it is lost', async () => {
    const engine = await started()
    engine.chain.defaultOutcome = () => 'lost'
    await send(engine, 'a')
    for (let minutes = 0; minutes < 60; minutes++) await pass(engine, 60)
    expect(payloads(engine)).toEqual([
      [0, 'a'],
      [1, 'a'],
      [2, 'a'],
    ])
    expect(await engine.store.list('outbox')).toEqual([])
    expect(await engine.store.list('failed_transaction')).toHaveLength(1)
    expect(engine.logLines.join()).toContain('it may have been included')
  })

  it('signs a transaction whose time is over with the nonce that it had', async () => {
    const engine = await started()
    await send(engine, 'a')
    await engine.rounds()
    const [first] = engine.chain.submitted
    engine.chain.outcomes.set(first?.hash ?? '', 'expired')
    await pass(engine, 31)
    // A node that lags may say so for a moment.
    expect(payloads(engine)).toEqual([[0, 'a']])
    await pass(engine, 121)
    expect(payloads(engine)).toEqual([
      [0, 'a'],
      [0, 'a'],
    ])
    expect(new Set(engine.chain.submitted.map(({ hash }) => hash)).size).toBe(2)
  })

  it('records what the contract refuses, and does not repeat it; others go on', async () => {
    const engine = await started()
    engine.chain.refuses = (payload) => (Buffer.from(payload).toString() === 'no' ? 'reverted: no' : undefined)
    await send(engine, 'no,a')
    await engine.rounds()
    expect(payloads(engine)).toEqual([[0, 'a']])
    expect(await engine.store.list('failed_transaction')).toHaveLength(1)
    engine.chain.outcomes.set(engine.chain.submitted[0]?.hash ?? '', 'failed')
    engine.chain.mine()
    await engine.rounds()
    expect(await engine.store.list('failed_transaction')).toHaveLength(2)
    expect(await engine.store.list('outbox')).toEqual([])
    expect(engine.chain.submitted).toHaveLength(1)
    const metrics = await engine.engine.metrics.registry.metrics()
    expect(metrics).toContain('vouchsafe_engine_transactions_total{outcome="failed"} 2')
  })

  it('signs anew what ran out of the gas that it seemed to need, for others came first; not for ever, and not what its component gave', async () => {
    const engine = await started()
    const runOut = async (): Promise<void> => {
      for (const { hash } of engine.chain.submitted) engine.chain.outcomes.set(hash, 'exhausted')
      engine.chain.nonce += 1
      engine.chain.mine()
      await engine.rounds()
    }
    await send(engine, 'a')
    await engine.rounds()
    await runOut()
    await runOut()
    expect(payloads(engine).map(([, payload]) => payload)).toEqual(['a', 'a', 'a'])
    expect(await engine.store.list('failed_transaction')).toEqual([])
    await runOut()
    expect(await engine.store.list('failed_transaction')).toHaveLength(1)
    await send(engine, 'b:30000')
    await engine.rounds()
    await runOut()
    expect(payloads(engine).map(([, payload]) => payload)).toEqual(['a', 'a', 'a', 'b'])
    expect(await engine.store.list('failed_transaction')).toHaveLength(2)
  })

  it('signs a transaction three times at most, whatever the node says of each', async () => {
    const engine = await started()
    await send(engine, 'a')
    await engine.rounds()
    for (const outcome of ['exhausted', 'lost', 'exhausted'] as const) {
      engine.chain.outcomes.set(engine.chain.submitted.at(-1)?.hash ?? '', outcome)
      engine.chain.nonce += 1
      for (let minutes = 0; minutes < 4; minutes++) await pass(engine, 60)
    }
    expect(new Set(engine.chain.submitted.map(({ hash }) => hash)).size).toBe(3)
    expect([await engine.store.list('outbox'), await engine.store.list('failed_transaction')]).toMatchObject([[], [{}]])
  })

  it('does not judge a transaction while another that it may depend on is on its way', async () => {
    const engine = await started()
    let isThere = false
    engine.chain.refuses = (payload) => (Buffer.from(payload).toString() === 'second' && !isThere ? 'no' : undefined)
    await send(engine, 'first,second')
    await engine.rounds()
    expect(payloads(engine)).toEqual([[0, 'first']])
    isThere = true
    include(engine)
    await engine.rounds()
    expect(payloads(engine)).toEqual([
      [0, 'first'],
      [1, 'second'],
    ])
    expect(await engine.store.list('failed_transaction')).toEqual([])
  })

  it('gives up what a contract refuses although another contract always has a transaction on its way', async () => {
    const engine = await withTwo()
    engine.chain.refuses = (payload) => (Buffer.from(payload).toString() === 'no' ? 'refused' : undefined)
    const sendToOther = () => engine.engine.app.inject({ method: 'POST', url: `/offchain/${OTHER}/x` })
    await sendToOther()
    await engine.rounds()
    await send(engine, 'no,good')
    for (let blocks = 0; blocks < 5; blocks++) {
      const before = [...engine.chain.submitted]
      await sendToOther()
      await engine.rounds()
      for (const { hash } of before) engine.chain.outcomes.set(hash, 'included')
      engine.chain.mine()
      await engine.rounds()
    }
    expect(payloads(engine).map(([, payload]) => payload)).toContain('good')
    expect(await engine.store.list('failed_transaction')).toHaveLength(1)
  })

  it('gives up what waits in a restored backup, and says so once, since it may have been sent before', async () => {
    const engine = await started()
    engine.chain.isDown = true
    await send(engine, 'a')
    const generation = {
      id: 'g',
      number: 0,
      origin: await engine.store.readOrigin(),
      restoredAt: engine.clock.now.getTime(),
      hasOpen: true,
    } as const
    await engine.store.commit([{ insert: 'generation', id: 'current', value: generation }])
    engine.chain.isDown = false
    const restarted = await closeAfterTest(engine.restart())
    await restarted.rounds()
    expect([payloads(restarted), await restarted.store.list('outbox')]).toEqual([[], []])
    expect(await restarted.store.list('failed_transaction')).toHaveLength(1)
    const lines = restarted.logLines.filter((line) => line.includes('transactions_of_backup'))
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ level: 40, transactions: 1 }])
    await send(restarted, 'b')
    const again = await closeAfterTest(restarted.restart())
    await again.rounds()
    expect(payloads(again).map(([, payload]) => payload)).toEqual(['b'])
  })

  it('waits while the chain cannot be asked, says so once, and goes on', async () => {
    const engine = await started()
    engine.chain.isDown = true
    await send(engine, 'a')
    await engine.rounds(5)
    expect(engine.logLines.filter((line) => line.includes('outbox_waits'))).toHaveLength(1)
    engine.clock.now = new Date(engine.clock.now.getTime() + 7000)
    expect(await engine.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_outbox_oldest_seconds 7')
    engine.chain.isDown = false
    await engine.rounds()
    expect(payloads(engine)).toEqual([[0, 'a']])
  })

  it('asks again by and by where the chain has no answer to one transaction, and others go on', async () => {
    const engine = await withTwo()
    let asked = 0
    let takesLong = true
    engine.chain.refuses = (payload) => {
      if (Buffer.from(payload).toString() !== 'long' || !takesLong) return undefined
      asked += 1
      throw new ChainError('it takes too long', { kind: 'failed' })
    }
    await send(engine, 'long,after')
    await engine.engine.app.inject({ method: 'POST', url: `/offchain/${OTHER}/mine` })
    await engine.rounds()
    expect(payloads(engine)).toEqual([[0, 'mine']])
    include(engine)
    for (let second = 0; second < 20; second++) {
      engine.clock.now = new Date(engine.clock.now.getTime() + 1000)
      await engine.rounds()
    }
    // At once, and after 1, 2, 4 and 8 seconds.
    expect(asked).toBe(5)
    expect(engine.logLines.filter((line) => line.includes('transaction_waits'))).toHaveLength(1)
    takesLong = false
    engine.clock.now = new Date(engine.clock.now.getTime() + 16_000)
    await engine.rounds()
    expect(payloads(engine)).toEqual([
      [0, 'mine'],
      [1, 'long'],
      [2, 'after'],
    ])
    expect(await engine.store.list('failed_transaction')).toEqual([])
  })

  it('gives its account the limits of the configuration', async () => {
    const { chain } = await started()
    expect(chain.limits).toEqual({ mostGas: 5_000_000n, mostGasPrice: 1_000_000_000_000n })
    const settings = { limits: { transactionGas: 60_000, gasPriceGwei: 3 } }
    const other = await started({ settings })
    expect(other.chain.limits).toEqual({ mostGas: 60_000n, mostGasPrice: 3_000_000_000n })
  })

  it('forgets the retry of a row that was deleted', async () => {
    const engine = await started()
    engine.chain.refuses = () => {
      throw new ChainError('it takes too long', { kind: 'failed' })
    }
    await send(engine, 'long')
    await engine.rounds()
    const [row] = await engine.store.listDue('outbox', END_OF_TIME, 1)
    await engine.store.commit([{ delete: 'outbox', id: row?.id ?? '', version: row?.version ?? 0 }])
    engine.clock.now = new Date(engine.clock.now.getTime() + 60_000)
    await engine.rounds()
    const reads = vi.spyOn(engine.store, 'listDue')
    await engine.rounds(10)
    expect(reads.mock.calls.filter(([collection]) => collection === 'outbox')).toEqual([])
  })

  it.each<[string, Error]>([
    ['in words of its own', new ChainError('insufficient funds', { kind: 'failed' })],
    ['as a contract that refuses', new ChainError('underpriced', { kind: 'refused' })],
  ])('asks again later when a node refuses to take it, %s', async (_, refusal) => {
    const engine = await started()
    engine.chain.onSubmit = () => Promise.reject(refusal)
    await send(engine, 'a')
    await engine.rounds()
    engine.chain.onSubmit = () => Promise.resolve()
    engine.clock.now = new Date(engine.clock.now.getTime() + 31_000)
    engine.chain.mine()
    await engine.rounds()
    expect(payloads(engine)).toEqual([[0, 'a']])
  })
})

describe('transactions that wait', () => {
  it('are not all read at once, however many there are', async () => {
    const engine = await started({ settings: { limits: { outboxTransactions: 2000, transactions: 1000 } } })
    engine.chain.refuses = () => {
      throw new ChainError('the node is busy', { kind: 'failed' })
    }
    await send(engine, Array(300).fill('a').join())
    const reads = vi.spyOn(engine.store, 'listDue')
    const restarted = await closeAfterTest(engine.restart())
    await restarted.rounds()
    await send(restarted, 'a')
    await restarted.rounds()
    const limits = reads.mock.calls.flatMap(([collection, , limit]) => (collection === 'outbox' ? [limit] : []))
    expect(limits.length).toBeGreaterThan(9)
    expect(Math.max(...limits)).toBeLessThan(100)
    expect(await restarted.engine.metrics.registry.metrics()).toContain('vouchsafe_engine_outbox 301')
    engine.chain.refuses = () => undefined
    await pass(restarted, 300)
    for (let times = 0; times < 25; times++) {
      include(restarted)
      await restarted.rounds()
    }
    expect(payloads(restarted)).toHaveLength(301)
    expect(await restarted.store.list('outbox')).toEqual([])
  })
})
