import { Transaction } from 'micro-eth-signer'
import { describe, expect, it } from 'vitest'
import { ChainError, type SpendingLimits } from '../chain.ts'
import { createEvmAccount } from './account.ts'
import type { EvmCall, EvmNode, Receipt } from './node.ts'

const KEY = new Uint8Array(32).fill(0x31)
const TO = `00${'22'.repeat(20)}`
const GWEI = 10n ** 9n
const LATEST = { number: 100, hash: '0x', time: new Date(0), gasLimit: 30_000_000n, baseFee: 5n * GWEI }
const REVERTED = new ChainError('the contract refuses: no', { kind: 'refused' })

interface Options {
  readonly limits?: SpendingLimits
  readonly head?: number
  readonly reached?: () => number | undefined
}

/** Makes an account whose node answers so, and by which the questions of the account are listed. */
function accountOf(node: Partial<EvmNode>, { limits = {}, head = 88, reached }: Options = {}) {
  const questions: unknown[][] = []
  const answers: Partial<EvmNode> = {
    estimateGas: () => Promise.resolve(40_000n),
    fetchBlock: () => Promise.resolve(LATEST),
    fetchPriorityFee: () => Promise.resolve(GWEI),
    ...node,
  }
  const listening = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [
      name,
      (...parameters: unknown[]) => {
        questions.push([name, ...parameters])
        return (answer as (...given: unknown[]) => unknown)(...parameters)
      },
    ]),
  ) as unknown as EvmNode
  const fetchHeadNumber = () => Promise.resolve(head)
  const account = createEvmAccount(KEY, {
    node: listening,
    chainId: 7n,
    fetchHeadNumber,
    limits,
    getReachedNumber: reached,
  })
  return { account, questions }
}

/** Signs a transaction of this payload, and returns its fields. */
async function signed(
  node: Partial<EvmNode>,
  { gas = 0n, payload = new Uint8Array(), ...options }: Options & { gas?: bigint; payload?: Uint8Array } = {},
) {
  const { raw } = await accountOf(node, options).account.sign(TO, payload, gas, 3)
  return Transaction.fromHex(raw).raw as { gasLimit: bigint; maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }
}

describe('the gas of a transaction', () => {
  it('is the estimate, a quarter and 50,000', async () => {
    expect((await signed({})).gasLimit).toBe(100_000n)
  })

  it.each<[string, bigint, bigint, bigint]>([
    ['is 2^24 at most where the chain may have that limit', 15_000_000n, 30_000_000n, 2n ** 24n],
    [
      'is more where the transaction needs more, as on chains without that limit',
      20_000_000n,
      30_000_000n,
      25_050_000n,
    ],
    ['is that of a block at most', 15_000_000n, 16_000_000n, 16_000_000n],
  ])('%s', async (_, estimate, gasLimit, expected) => {
    const node = {
      estimateGas: () => Promise.resolve(estimate),
      fetchBlock: () => Promise.resolve({ ...LATEST, gasLimit }),
    }
    expect((await signed(node)).gasLimit).toBe(expected)
  })

  it('that was given is enough when it is the estimate, on a chain where a payload costs less', async () => {
    const payload = new Uint8Array(1000).fill(1)
    expect((await signed({}, { gas: 40_000n, payload })).gasLimit).toBe(40_000n)
    await expect(signed({}, { gas: 39_999n, payload })).rejects.toMatchObject({ kind: 'refused' })
  })
})

it('a transaction pays one gwei beside the base fee where the node suggests nothing', async () => {
  const fees = await signed({ fetchPriorityFee: () => Promise.reject(new ChainError('unknown method')) })
  expect([fees.maxPriorityFeePerGas, fees.maxFeePerGas]).toEqual([GWEI, 11n * GWEI])
})

it('the next nonce counts the transactions that wait', async () => {
  const { account, questions } = accountOf({ fetchTransactionCount: () => Promise.resolve(4) })
  expect(await account.fetchNextNonce()).toBe(4)
  expect(questions).toEqual([['fetchTransactionCount', account.address, 'pending']])
})

it('a refusal is confirmed at the block that the caller has reached, by a call of the same sender', async () => {
  const calls: [EvmCall, unknown][] = []
  const node: Partial<EvmNode> = {
    estimateGas: () => Promise.reject(REVERTED),
    call: (call, tag) => {
      calls.push([call, tag])
      return Promise.reject(REVERTED)
    },
  }
  const { account } = accountOf(node, { reached: () => 42 })
  await expect(account.sign(TO, new Uint8Array(1), 0n, 0)).rejects.toBe(REVERTED)
  expect(calls).toEqual([[{ from: account.address, to: TO, input: new Uint8Array(1) }, 42]])
})

describe('sending a transaction', () => {
  const refused = new ChainError('the node refuses eth_sendRawTransaction: nonce too low', { kind: 'failed' })
  const known = new ChainError('the node refuses eth_sendRawTransaction: already known', { kind: 'failed' })
  const away = new ChainError('the node does not answer')
  const submitTo = (error: ChainError, hasTransaction: () => Promise<boolean>): Promise<void> => {
    const { account } = accountOf({ sendTransaction: () => Promise.reject(error), hasTransaction })
    return account.submit({ hash: '0x01', nonce: 3, raw: '0x' })
  }

  it('succeeds where the node has it already, whether or not the node can be asked for it', async () => {
    await submitTo(known, () => Promise.reject(away))
    await submitTo(refused, () => Promise.resolve(true))
  })

  it('fails where the node refuses it and lacks it, and is not decided while the node does not answer', async () => {
    await expect(submitTo(refused, () => Promise.resolve(false))).rejects.toBe(refused)
    await expect(submitTo(refused, () => Promise.reject(away))).rejects.toBe(away)
  })
})

describe('the outcome of a transaction', () => {
  const receipt = (changes: Partial<Receipt>): Receipt => ({
    ...{ block: 80, succeeded: true, gasUsed: 30_000n, created: undefined },
    ...changes,
  })

  /** Looks up the outcome of a transaction with the gas limit 100,000 and the nonce 3. */
  async function outcome(receipts: (Receipt | undefined)[], { count = 3, has = false } = {}) {
    const { account, questions } = accountOf({
      fetchReceipt: () => Promise.resolve(receipts.length > 1 ? receipts.shift() : receipts[0]),
      fetchTransactionCount: () => Promise.resolve(count),
      hasTransaction: () => Promise.resolve(has),
    })
    const transaction = await account.sign(TO, new Uint8Array(), 0n, 3)
    questions.length = 0
    return { outcome: await account.fetchOutcome(transaction), questions }
  }

  it.each<[string, Partial<Receipt>]>([
    ['included', { block: 88 }],
    ['unconfirmed', { block: 89 }],
    ['failed', { succeeded: false, gasUsed: 93_000n }],
    ['exhausted', { succeeded: false, gasUsed: 93_750n }],
    ['exhausted', { succeeded: false, gasUsed: 100_000n }],
  ])('is %s for %o', async (expected, changes) => {
    expect((await outcome([receipt(changes)])).outcome).toBe(expected)
  })

  it('is looked up again where the nonce was used meanwhile', async () => {
    expect((await outcome([undefined, receipt({})], { count: 4 })).outcome).toBe('included')
  })

  it.each([
    ['pending', { count: 3 }],
    ['pending', { count: 4, has: true }],
    ['lost', { count: 4 }],
  ])('is %s without a receipt, for %o at the head that has its confirmations', async (expected, state) => {
    const { outcome: found, questions } = await outcome([undefined], state)
    expect(found).toBe(expected)
    expect(questions.find(([name]) => name === 'fetchTransactionCount')?.[2]).toBe(88)
  })
})
