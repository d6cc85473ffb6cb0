/** A chain in memory, at the port of chains; a test says what is on it, and what goes wrong with it. */
import { createHash, randomBytes } from 'node:crypto'
import {
  type Account,
  type Block,
  type Chain,
  ChainError,
  type OffChainContract,
  type SignedTransaction,
  type SpendingLimits,
  type TransactionOutcome,
} from '../../src/chain/chain.ts'
import type { Address } from '../../src/offchain/address.ts'

export interface TestChain extends Chain {
  /** Sets the state of the contract from the next block on. */
  set(contract: Partial<OffChainContract> & { readonly address: string }): void
  remove(address: string): void
  mine(changed?: readonly string[]): void
  /** Takes back so many blocks; others stand in their place. */
  reorganise(depth: number): void
  isDown: boolean
  /** The transactions that were submitted, each as often as it was. */
  readonly submitted: SignedTransaction[]
  readonly outcomes: Map<string, TransactionOutcome>
  /** Returns the outcome of a transaction that is not in `outcomes`. */
  defaultOutcome: () => TransactionOutcome
  /** Whether the nonce of the account counts what was submitted. */
  countsSubmitted: boolean
  /** Returns why the contract refuses what is to be signed; undefined when it does not. */
  refuses: (payload: Uint8Array) => string | undefined
  /** Runs before a transaction is taken. */
  onSubmit: () => Promise<void>
  nonce: number
  /** The limits of the account that was made last. */
  limits: SpendingLimits | undefined
}

/**
 * Makes a chain. `engine` is the account that every engine has on it, and the engine of a contract that names no other.
 */
export function testChain(clock: { readonly now: Date }, engine: Address): TestChain {
  const contracts = new Map<string, OffChainContract>()
  let blocks: { block: Block; changed: readonly string[] }[] = []
  let forks = 0
  const block = (number: number): Block => ({
    number,
    hash: `0x${createHash('sha256').update(`${forks}/${number}`).digest('hex')}`,
    time: clock.now,
  })
  const up = (): void => {
    if (chain.isDown) throw new ChainError('the node does not answer')
  }
  const answerWhenUp = <T>(answer: () => T): Promise<T> =>
    new Promise((resolve) => {
      up()
      resolve(answer())
    })
  const chain: TestChain = {
    id: '31337',
    addresses: 'evm',
    isDown: false,
    submitted: [],
    outcomes: new Map(),
    defaultOutcome: () => 'pending',
    countsSubmitted: true,
    refuses: () => undefined,
    onSubmit: () => Promise.resolve(),
    nonce: 0,
    limits: undefined,
    set: (contract) => {
      const before = contracts.get(contract.address)
      const engines = [{ address: engine, endpoint: '' }]
      contracts.set(contract.address, {
        engines,
        component: undefined,
        state: new Uint8Array(),
        ...before,
        ...contract,
      })
      chain.mine([contract.address])
    },
    remove: (address) => {
      contracts.delete(address)
      chain.mine([address])
    },
    mine: (changed = []) => void blocks.push({ block: block(blocks.length), changed }),
    reorganise: (depth) => {
      forks++
      blocks = blocks.slice(0, -depth)
      for (let more = 0; more <= depth; more++) chain.mine()
    },
    fetchHead: () =>
      answerWhenUp(() => {
        const { block: newest } = blocks.at(-1) as { block: Block }
        return { ...newest, newest }
      }),
    hasBlock: (candidate) => answerWhenUp(() => blocks[candidate.number]?.block.hash === candidate.hash),
    listContracts: () => answerWhenUp(() => [...contracts.keys()]),
    fetchContract: (address) => answerWhenUp(() => contracts.get(address)),
    read: (_address, input) => answerWhenUp(() => input),
    listChanged: (addresses, from, to) =>
      answerWhenUp(() => {
        const some = blocks.slice(from.number + 1, to.number + 1).flatMap((each) => each.changed)
        return addresses.filter((address) => some.includes(address))
      }),
    createAccount: (_, limits) => {
      chain.limits = limits
      return account
    },
  }
  const account: Account = {
    address: engine,
    canFillNonces: true,
    fetchNextNonce: () => answerWhenUp(() => chain.nonce),
    sign: (to, payload, gas, nonce) =>
      answerWhenUp(() => {
        const why = chain.refuses(payload)
        if (why !== undefined) throw new ChainError(why, { kind: 'refused' })
        const raw = `${to} ${Buffer.from(payload).toString('hex')} ${gas} ${nonce} ${randomBytes(4).toString('hex')}`
        return { hash: createHash('sha256').update(raw).digest('hex'), nonce, raw }
      }),
    submit: async (transaction) => {
      up()
      await chain.onSubmit()
      chain.submitted.push(transaction)
      if (chain.countsSubmitted) chain.nonce = Math.max(chain.nonce, transaction.nonce + 1)
    },
    fetchOutcome: ({ hash }) => answerWhenUp(() => chain.outcomes.get(hash) ?? chain.defaultOutcome()),
  }
  chain.mine()
  return chain
}
