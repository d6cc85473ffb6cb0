import { describe, expect, it } from 'vitest'
import { type Account, type Chain, ChainError, type TransactionOutcome as Outcome } from '../../src/chain/chain.ts'
import type { Patience } from './inclusion.ts'
import type { Eip1193Provider } from './signers.ts'
import { accountTransactor } from './transactor.ts'
import { walletTransactor } from './wallet-transactor.ts'

const ADDRESS = `00${'aa'.repeat(20)}`
const patience = { now: () => new Date(0), wait: () => Promise.resolve() }

/** Makes a clock that goes on as long as somebody waits. */
function waitingClock() {
  let time = 0
  const wait = (ms: number): Promise<void> => {
    time += ms
    return Promise.resolve()
  }
  return { now: () => new Date(time), wait }
}

let chains = 0
const wait = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Makes a chain whose account takes each nonce once. It calls `submit` before it takes a transaction. */
function chainWith(submit: () => Promise<void>): { chain: Pick<Chain, 'createAccount' | 'id'>; nonces: number[] } {
  const nonces: number[] = []
  const account: Account = {
    address: ADDRESS,
    canFillNonces: true,
    fetchNextNonce: () => Promise.resolve(nonces.length),
    sign: (_to, _payload, _gas, nonce) => Promise.resolve({ hash: String(nonce), nonce, raw: '' }),
    submit: async ({ nonce }) => {
      await submit()
      if (nonces.includes(nonce)) throw new ChainError('nonce too low', { kind: 'failed' })
      nonces.push(nonce)
    },
    fetchOutcome: () => Promise.resolve('included'),
  }
  return { chain: { id: `7 ${chains++}`, createAccount: () => account }, nonces }
}

/** Makes a chain that counts no waiting transaction, as Partisia does. It includes all when `include` is called. */
function slowChain(): { chain: Pick<Chain, 'createAccount' | 'id'>; nonces: number[]; end: (how: Outcome) => void } {
  const nonces: number[] = []
  let next = 4
  let outcome: Outcome = 'pending'
  const account: Account = {
    address: ADDRESS,
    canFillNonces: false,
    fetchNextNonce: () => Promise.resolve(next),
    sign: (_to, _payload, _gas, nonce) => Promise.resolve({ hash: String(nonce), nonce, raw: '' }),
    submit: ({ nonce }) => Promise.resolve(void nonces.push(nonce)),
    fetchOutcome: () => Promise.resolve(outcome),
  }
  const end = (how: Outcome): void => {
    outcome = how
    if (how === 'included') next = Math.max(...nonces) + 1
  }
  return { chain: { id: '8', createAccount: () => account }, nonces, end }
}

/** Makes a chain whose node says the nonce 4 whatever was included; `outcomes` has those of transactions by nonce. */
function lateChain() {
  const nonces: number[] = []
  const outcomes = new Map<number, Outcome>()
  const account = {
    address: ADDRESS,
    canFillNonces: false,
    fetchNextNonce: () => Promise.resolve(4),
    sign: (_to, _payload, _gas, nonce) => Promise.resolve({ hash: String(nonce), nonce, raw: '' }),
    submit: ({ nonce }) => Promise.resolve(void nonces.push(nonce)),
    fetchOutcome: ({ nonce }) => Promise.resolve(outcomes.get(nonce) ?? 'pending'),
  } satisfies Account
  return { chain: { id: `9 ${chains++}`, createAccount: (): Account => account }, nonces, outcomes, account }
}

describe('a transactor', () => {
  it('gives transactions that are sent at once nonces of their own', async () => {
    const { chain, nonces } = chainWith(() => Promise.resolve())
    const transactor = accountTransactor(chain, new Uint8Array(32), patience)
    await Promise.all([1, 2, 3].map(() => transactor.send(ADDRESS, new Uint8Array())))
    expect(nonces).toEqual([0, 1, 2])
  })

  it('gives no nonce twice, also beside another of the same key, where the node counts no waiting transactions', async () => {
    const { chain, nonces, end } = slowChain()
    const makeOne = () => accountTransactor(chain, new Uint8Array(32), { ...patience, wait })
    const [one, other] = [makeOne(), makeOne()]
    const sendAll = () => Promise.allSettled([one, other, one].map((each) => each.send(ADDRESS, new Uint8Array())))
    const sent = sendAll()
    await expect.poll(() => nonces).toEqual([4, 5, 6])
    end('expired')
    expect((await sent).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    // No block included them, so that their nonces are good again.
    end('pending')
    const again = sendAll()
    await expect.poll(() => nonces).toEqual([4, 5, 6, 4, 5, 6])
    end('included')
    expect((await again).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
  })

  it('waits for what it has sent while the node does not answer, and says so when that lasts', async () => {
    const { chain, nonces, account } = lateChain()
    let time = 0
    let outage = new ChainError('the node limits requests')
    const pass = (ms: number): Promise<void> => {
      time += ms
      return Promise.resolve()
    }
    const clock = { now: () => new Date(time), wait: pass }
    const transactor = accountTransactor(chain, new Uint8Array(32), clock)
    let failures = 3
    account.fetchOutcome = () => (failures-- > 0 ? Promise.reject(outage) : Promise.resolve('included'))
    account.fetchNextNonce = () => Promise.resolve(4 + nonces.length)
    await transactor.send(ADDRESS, new Uint8Array())
    failures = Number.POSITIVE_INFINITY
    await expect(transactor.send(ADDRESS, new Uint8Array())).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringMatching(/was sent.*the node limits requests/) as string,
    })
    expect([nonces, time > 120_000]).toEqual([[4, 5], true])
    outage = new ChainError('the contract refuses', { kind: 'refused' })
    await expect(transactor.send(ADDRESS, new Uint8Array())).rejects.toBe(outage)
  })

  it('gives no nonce of an included transaction again where the node is late', async () => {
    const { chain, nonces, outcomes } = lateChain()
    const transactor = accountTransactor(chain, new Uint8Array(32), { ...patience, wait })
    const [first, second] = [transactor.send(ADDRESS, new Uint8Array()), transactor.send(ADDRESS, new Uint8Array())]
    await expect.poll(() => nonces).toEqual([4, 5])
    outcomes.set(4, 'included')
    await first
    const third = transactor.send(ADDRESS, new Uint8Array())
    await expect.poll(() => nonces).toEqual([4, 5, 6])
    for (const nonce of [5, 6]) outcomes.set(nonce, 'included')
    await Promise.all([second, third])
  })

  it('gives no nonce again of a transaction that was included while the node was asked for the nonce', async () => {
    const { chain, nonces, outcomes, account } = lateChain()
    const transactor = accountTransactor(chain, new Uint8Array(32), { ...patience, wait })
    const first = transactor.send(ADDRESS, new Uint8Array())
    await expect.poll(() => nonces).toEqual([4])
    account.fetchNextNonce = async () => {
      outcomes.set(4, 'included')
      await first
      return 4
    }
    const second = transactor.send(ADDRESS, new Uint8Array())
    await expect.poll(() => nonces).toEqual([4, 5])
    outcomes.set(5, 'included')
    await second
  })

  it('gives no nonce again to what is sent after it, until the node has had its time', async () => {
    const { chain, nonces, outcomes } = lateChain()
    let time = 0
    const now = () => new Date(time)
    const transactor = accountTransactor(chain, new Uint8Array(32), { now, wait })
    for (const nonce of [4, 5]) outcomes.set(nonce, 'included')
    await transactor.send(ADDRESS, new Uint8Array())
    await transactor.send(ADDRESS, new Uint8Array())
    time = 30_000
    await transactor.send(ADDRESS, new Uint8Array())
    expect(nonces).toEqual([4, 5, 4])
  })

  it('goes on with the nonce of the node, after a time, where the chain took back what it had included', async () => {
    const { chain, nonces, outcomes, account } = lateChain()
    let time = 0
    const pass = (ms: number): Promise<void> => {
      time += ms
      return Promise.resolve()
    }
    const transactor = accountTransactor(chain, new Uint8Array(32), { now: () => new Date(time), wait: pass })
    outcomes.set(4, 'included')
    await transactor.send(ADDRESS, new Uint8Array())
    outcomes.delete(4)
    const times: number[] = []
    account.submit = ({ nonce }) => {
      times.push(time)
      outcomes.set(nonce, 'included')
      return Promise.resolve(void nonces.push(nonce))
    }
    await transactor.send(ADDRESS, new Uint8Array())
    expect([nonces, times]).toEqual([[4, 4], [30_000]])
  })

  it('asks a late node again whether it has what was included, before it gives the nonce again', async () => {
    const { chain, nonces, outcomes, account } = lateChain()
    const transactor = accountTransactor(chain, new Uint8Array(32), { ...patience, wait })
    for (const nonce of [4, 5]) outcomes.set(nonce, 'included')
    await transactor.send(ADDRESS, new Uint8Array())
    let failures = 3
    const { fetchOutcome } = account
    account.fetchOutcome = (transaction) => (failures-- > 0 ? Promise.resolve('pending') : fetchOutcome(transaction))
    await transactor.send(ADDRESS, new Uint8Array())
    expect(nonces).toEqual([4, 5])
  })

  it('gives the nonce of one that no node took to the next, also of those that are sent at once', async () => {
    let submissions = 0
    const refusal = new ChainError('insufficient funds', { kind: 'failed' })
    const { chain, nonces } = chainWith(() => (submissions++ === 0 ? Promise.reject(refusal) : Promise.resolve()))
    const transactor = accountTransactor(chain, new Uint8Array(32), patience)
    const sent = await Promise.allSettled([1, 2, 3].map(() => transactor.send(ADDRESS, new Uint8Array())))
    expect(sent.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(nonces).toEqual([0, 1])
  })

  it('sends the same transaction again while the node cannot be reached, and names it when that lasts', async () => {
    const clock = waitingClock()
    let failures = 3
    const { chain, nonces } = chainWith(() =>
      failures-- > 0 ? Promise.reject(new ChainError('the node does not answer')) : Promise.resolve(),
    )
    const transactor = accountTransactor(chain, new Uint8Array(32), clock)
    await transactor.send(ADDRESS, new Uint8Array())
    expect([nonces, clock.now().getTime()]).toEqual([[0], 3000])
    failures = Number.POSITIVE_INFINITY
    await expect(transactor.send(ADDRESS, new Uint8Array())).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringMatching(/^the transaction 1 may have been sent.*the node does not answer/) as string,
    })
  })

  it('rejects with the error of the chain where nothing could be signed', async () => {
    const { chain, account } = lateChain()
    const outage = new ChainError('the node does not answer')
    account.fetchNextNonce = () => Promise.reject(outage)
    await expect(accountTransactor(chain, new Uint8Array(32), patience).send(ADDRESS, new Uint8Array())).rejects.toBe(
      outage,
    )
  })

  it.each<[Outcome, RegExp]>([
    ['failed', /^the transaction 4 was refused by the contract$/],
    ['lost', /^the transaction 4 was replaced by another one$/],
  ])('names a transaction that is %s', async (outcome, message) => {
    const { chain, outcomes } = lateChain()
    outcomes.set(4, outcome)
    const sent = accountTransactor(chain, new Uint8Array(32), patience).send(ADDRESS, new Uint8Array())
    await expect(sent).rejects.toMatchObject({
      code: 'refused-by-chain',
      message: expect.stringMatching(message) as string,
    })
  })

  it.each<[string, Outcome, number, string | undefined]>([
    ['waits for the confirmations of a block', 'unconfirmed', 156_000, undefined],
    ['waits a quarter of an hour at most for confirmations', 'unconfirmed', 1_800_000, 'is in a block, and'],
    ['waits two minutes for a block', 'pending', 156_000, 'was not included in time'],
  ])('%s', async (_, first, includedMs, problem) => {
    const { chain, account } = lateChain()
    const clock = waitingClock()
    account.fetchOutcome = () => Promise.resolve(clock.now().getTime() < includedMs ? first : 'included')
    const transactor = accountTransactor(chain, new Uint8Array(32), clock)
    const sent = transactor.send(ADDRESS, new Uint8Array())
    if (problem === undefined) await sent
    else
      await expect(sent).rejects.toMatchObject({
        message: expect.stringContaining(`transaction 4 ${problem}`) as string,
      })
    expect(clock.now().getTime()).toBeLessThan(905_000)
  })

  it('pays 1000 gwei for a unit of gas at most, unless it is given another limit', () => {
    const limits: unknown[] = []
    const { chain, account } = lateChain()
    const createAccount: Chain['createAccount'] = (_, given) => {
      limits.push(given)
      return account
    }
    accountTransactor({ ...chain, createAccount }, new Uint8Array(32), patience)
    accountTransactor({ ...chain, createAccount }, new Uint8Array(32), { ...patience, limits: { mostGasPrice: 5n } })
    accountTransactor({ ...chain, createAccount }, new Uint8Array(32), { ...patience, limits: { mostGas: 6n } })
    const byDefault = 1_000_000_000_000n
    expect(limits).toEqual([
      { mostGasPrice: byDefault },
      { mostGasPrice: 5n },
      { mostGasPrice: byDefault, mostGas: 6n },
    ])
  })

  it.each<[string, ChainError, string]>([
    ['a node refuses, with refused-by-chain', new ChainError('insufficient funds', { kind: 'failed' }), 'ClientError'],
    [
      'a contract refuses, with refused-by-chain',
      new ChainError('the contract refuses', { kind: 'refused' }),
      'ClientError',
    ],
  ])('rejects what %s, and sends the next', async (_, error, name) => {
    let refuses = true
    const { chain, nonces } = chainWith(() => (refuses ? Promise.reject(error) : Promise.resolve()))
    const transactor = accountTransactor(chain, new Uint8Array(32), patience)
    await expect(transactor.send(ADDRESS, new Uint8Array())).rejects.toMatchObject({
      name,
      message: `the transaction 0 was not taken: ${error.message}`,
      code: 'refused-by-chain',
    })
    refuses = false
    await transactor.send(ADDRESS, new Uint8Array())
    expect(nonces).toEqual([0])
  })
})

describe('the transactor of a wallet', () => {
  /** Makes a transactor of a wallet that answers so when it is asked for the receipt, of a chain with these heads. */
  function walletWith(
    answers: unknown[],
    heads: { shift(): number | undefined } = [2],
    chainId: unknown = '0x2105',
    clock: Patience = { ...patience, wait },
  ) {
    const sentCalls: unknown[] = []
    const provider = {
      request: ({ method, params = [] }: Parameters<Eip1193Provider['request']>[0]): Promise<unknown> => {
        if (method === 'eth_chainId') return Promise.resolve(chainId)
        if (method === 'eth_sendTransaction') return Promise.resolve(sentCalls.push(params[0]) && '0xaa')
        const answer = answers.length > 1 ? answers.shift() : answers[0]
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
      },
    }
    const chain = {
      id: '8453',
      fetchHead: () => {
        const block = { number: heads.shift() ?? 0, hash: 'aa', time: new Date(0) }
        return Promise.resolve({ ...block, newest: block })
      },
    }
    const transactor = walletTransactor(provider, `0x${'aa'.repeat(20)}`, chain, clock)
    return { send: () => transactor.send(ADDRESS, new Uint8Array(1)), sentCalls }
  }
  const included = { status: '0x1', blockNumber: '0x2' }

  it('waits for what it has sent while the wallet cannot ask its node', async () => {
    const answers = [new Error('Internal JSON-RPC error.'), null, included]
    await walletWith(answers).send()
    expect(answers).toEqual([included])
  })

  it('waits until the chain that the client reads has reached the block', async () => {
    const heads = [0, 1, 2, 3]
    await walletWith([included], heads).send()
    expect(heads).toEqual([3])
  })

  it('waits for the confirmations of the block that has its transaction', async () => {
    const clock = waitingClock()
    const heads = { shift: () => Math.floor(clock.now().getTime() / 12_000) - 10 }
    await walletWith([{ ...included, blockNumber: '0x3' }], heads, '0x2105', clock).send()
    expect(clock.now().getTime()).toBeGreaterThanOrEqual(156_000)
  })

  it('names the chain in what it sends, for a wallet that changes to another one meanwhile', async () => {
    const { send, sentCalls } = walletWith([included], [2], '0x02105')
    await send()
    expect(sentCalls).toEqual([expect.objectContaining({ chainId: '0x2105', to: `0x${'aa'.repeat(20)}` })])
  })

  it.each([
    ['is on another chain', '0x1', 'the wallet is on chain 1, and the contract on chain 8453'],
    ['does not say its chain', 'main\n', 'the wallet does not say on which chain it is'],
  ])('sends nothing by a wallet that %s', async (_, chainId, message) => {
    const { send, sentCalls } = walletWith([included], [2], chainId)
    await expect(send()).rejects.toMatchObject({
      code: 'other-chain',
      message: expect.stringContaining(message) as string,
    })
    expect(sentCalls).toEqual([])
  })

  it.each(['0x0', '0x', undefined])('rejects a transaction whose receipt has the status %s', async (status) => {
    const sent = walletWith([{ ...included, status }]).send()
    await expect(sent).rejects.toMatchObject({ code: 'refused-by-chain' })
  })
})
