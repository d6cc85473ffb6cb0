import { describe, expect, it } from 'vitest'
import { ChainError, type SpendingLimits } from '../../chain/chain.ts'
import { createdAddress } from '../../chain/evm/created-address.ts'
import type { Receipt } from '../../chain/evm/node.ts'
import { evmAddress } from '../../offchain/address.ts'
import type { Connection } from './connection.ts'
import { transact } from './transactions.ts'

const SENDER = `00${'aa'.repeat(20)}`
const CREATED = createdAddress(SENDER, 7)
const OUTAGE = new ChainError('the chain cannot be asked: it takes no connections')
const RECEIPT = { block: 3, succeeded: true, gasUsed: 1n, created: CREATED }

interface Answers {
  /** The answers of the node to what is sent; the last one again and again. */
  readonly submissions?: (Error | undefined)[]
  /** The answers to questions for the receipt; the last one again and again. */
  readonly receipts?: (Error | Receipt | undefined)[]
}

function next<T>(answers: (Error | T)[]): Promise<T> {
  const answer = answers.length > 1 ? answers.shift() : answers[0]
  return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T)
}

/** Sends a transaction by a node that answers so, and returns the result with the transactions that came. */
async function send({ submissions = [undefined], receipts = [RECEIPT] }: Answers, to?: string) {
  const submittedHashes: string[] = []
  const account = {
    address: SENDER,
    fetchNextNonce: () => Promise.resolve(7),
    sign: () => Promise.resolve({ hash: '0xfe', nonce: 7, raw: '' }),
    submit: ({ hash }: { hash: string }) => {
      submittedHashes.push(hash)
      return next(submissions)
    },
  }
  const node = { fetchReceipt: () => next<Receipt | undefined>(receipts) }
  const createAccount = (_: Uint8Array, limits: SpendingLimits) => {
    expect(limits).toEqual({ mostGasPrice: 9n })
    return account
  }
  const limits = { mostGasPrice: 9n }
  const connection = { node, chain: { createAccount }, readAccountKey: () => new Uint8Array(32), limits }
  let time = 0
  const clock = {
    now: () => new Date(time),
    wait: (ms: number) => {
      time += ms
      return Promise.resolve()
    },
  }
  const sent = transact(connection as unknown as Connection, to, new Uint8Array(1), clock)
  return { submittedHashes, result: await sent.catch((error: unknown) => (error as Error).message) }
}

describe('a transaction of a command', () => {
  it('is sent again, the same, while the node cannot be reached, and waited for', async () => {
    const { submittedHashes, result } = await send({
      submissions: [OUTAGE, OUTAGE, undefined],
      receipts: [OUTAGE, undefined, OUTAGE, RECEIPT],
    })
    expect(submittedHashes).toEqual(['0xfe', '0xfe', '0xfe'])
    expect(result).toEqual({ transaction: '0xfe', block: 3, created: CREATED })
  })

  it.each<[string, Answers, RegExp]>([
    ['the node stays away', { submissions: [OUTAGE] }, /may have been sent.*: the chain cannot be asked/],
    ['the node refuses', { submissions: [new ChainError('no funds', { kind: 'failed' })] }, /was not taken: no funds$/],
    ['nobody says what became of it', { receipts: [undefined, OUTAGE] }, /was sent.*: the chain cannot be asked/],
    ['no block has it', { receipts: [undefined] }, /was sent, and is in no block yet\.$/],
    ['it fails', { receipts: [{ ...RECEIPT, succeeded: false }] }, /from 0xa{40} failed in block 3\.$/],
  ])('is named, with the contract that it creates, where %s', async (_, answers, message) => {
    const { result } = await send(answers)
    expect(result).toMatch(message)
    expect(result).toContain(`The transaction 0xfe, which creates the contract ${evmAddress(CREATED)},`)
  })

  it('is named alone where it creates no contract', async () => {
    const { result } = await send({ receipts: [undefined] }, SENDER)
    expect(result).toBe('The transaction 0xfe was sent, and is in no block yet.')
  })
})
