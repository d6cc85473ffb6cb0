/** Senders of transactions to the contract: an account whose key the application holds, or a wallet. */
import { bytesToHex } from '@noble/hashes/utils.js'
import {
  type Account,
  type Chain,
  ChainError,
  isAboutOneRequest,
  type SignedTransaction,
} from '../../src/chain/chain.ts'
import { isObject, memberOf } from '../../src/codec/json.ts'
import { type Address, evmAddress, parseAddress } from '../../src/offchain/address.ts'
import { ClientError } from './errors.ts'
import { askDespiteOutages, isOutage } from './outage.ts'
import type { Eip1193Provider } from './signers.ts'

export interface Transactor {
  readonly address: Address
  /** Resolves when it is included. Rejects with a {@link ClientError} `refused-by-chain` or `timeout`. */
  send(to: Address, payload: Uint8Array): Promise<void>
}

export interface Patience {
  readonly now: () => Date
  readonly wait: (ms: number) => Promise<void>
  /** The time that a transaction may take; two minutes unless given. */
  readonly patienceMs?: number
}

const TRANSACTION_PATIENCE_MS = 120_000
const POLL_MS = 200
const WHY_NOT = {
  failed: 'was refused by the contract',
  exhausted: 'ran out of its gas: the state of the contract had changed; send it again',
  lost: 'was replaced by another one',
  expired: 'was in no block in its time; send it again',
} as const

/** The transactions of an account that this process is sending. */
interface AccountUse {
  /** The nonces of the transactions without an outcome, which the node may not count yet. */
  readonly pendingNonces: Set<number>
  /** The nonce after that of the latest included transaction, which the node may not count yet either. */
  nextNonce: number
  /** Resolves when the last transaction was submitted, or could not be. */
  lastSubmission: Promise<unknown>
  sends: number
  /** The time until which the use is kept while the account sends nothing, in milliseconds since 1970. */
  keptUntil: number
}

/** How long the node may be late with the nonce of an included transaction when nothing else is sent. */
const LATE_MS = 30_000

/** The uses by chain and address, which all transactors of a key share. */
const accountUses = new Map<string, AccountUse>()

/**
 * Makes a transactor of a key. Transactions that are sent at the same time are submitted one after another, with nonces
 * of their own, also those of other transactors of the key in this process.
 */
export function accountTransactor(
  chain: Pick<Chain, 'createAccount' | 'id'>,
  key: Uint8Array,
  patience: Patience,
): Transactor {
  const account = chain.createAccount(key)
  const send = async (use: AccountUse, to: Address, payload: Uint8Array): Promise<void> => {
    const submission = use.lastSubmission.then(() => signAndSubmit(account, use, to, payload))
    use.lastSubmission = submission.catch(() => undefined)
    const transaction = await submission
    try {
      await waitUntil(patience, async () => {
        const outcome = await account.fetchOutcome(transaction)
        if (outcome !== 'pending' && outcome !== 'included') refuseByChain(`the transaction ${WHY_NOT[outcome]}`)
        if (outcome === 'included') use.nextNonce = Math.max(use.nextNonce, transaction.nonce + 1)
        return outcome === 'included'
      })
    } finally {
      use.pendingNonces.delete(transaction.nonce)
    }
  }
  return {
    address: account.address,
    send: (to, payload) => withAccountUse(`${chain.id} ${account.address}`, patience, (use) => send(use, to, payload)),
  }
}

async function withAccountUse(
  name: string,
  { now }: Patience,
  work: (use: AccountUse) => Promise<void>,
): Promise<void> {
  const time = now().getTime()
  for (const [each, { sends, keptUntil }] of accountUses) if (sends === 0 && keptUntil <= time) accountUses.delete(each)
  const use = accountUses.get(name) ?? {
    pendingNonces: new Set(),
    nextNonce: 0,
    lastSubmission: Promise.resolve(),
    sends: 0,
    keptUntil: 0,
  }
  accountUses.set(name, use)
  use.sends += 1
  try {
    await work(use)
  } finally {
    use.sends -= 1
    use.keptUntil = now().getTime() + LATE_MS
  }
}

async function signAndSubmit(
  account: Account,
  use: AccountUse,
  to: Address,
  payload: Uint8Array,
): Promise<SignedTransaction> {
  try {
    const accountNonce = await account.fetchNextNonce()
    // A transaction may have been included while the node was asked.
    let nonce = Math.max(accountNonce, use.nextNonce)
    // A node may be late with what it counts, and those of Partisia count no waiting transaction at all.
    while (use.pendingNonces.has(nonce)) nonce += 1
    const transaction = await account.sign(to, payload, 0n, nonce)
    await account.submit(transaction)
    use.pendingNonces.add(nonce)
    return transaction
  } catch (error) {
    if (isAboutOneRequest(error)) refuseByChain(error.message)
    throw error
  }
}

/**
 * Makes a transactor for `account`, one of those that the wallet gives by `eth_requestAccounts`. A transaction counts
 * as included when the head of `chain`, which the client reads, has reached it.
 */
export function walletTransactor(
  provider: Eip1193Provider,
  account: string,
  chain: Pick<Chain, 'fetchHead'>,
  patience: Patience,
): Transactor {
  const address = parseAddress(account)
  return {
    address,
    send: async (to, payload) => {
      const call = { from: evmAddress(address), to: evmAddress(to), data: `0x${bytesToHex(payload)}` }
      const hash = await provider.request({ method: 'eth_sendTransaction', params: [call] })
      await waitUntil(patience, async () => {
        const receipt = await provider
          .request({ method: 'eth_getTransactionReceipt', params: [hash] })
          .catch((cause: unknown) => throwUnasked(cause))
        if (!isObject(receipt)) return false
        if (memberOf(receipt, 'status') !== '0x1') refuseByChain('the transaction was refused by the contract')
        const { number } = await chain.fetchHead()
        return Number(memberOf(receipt, 'blockNumber')) <= number
      })
    },
  }
}

/** Throws that the wallet could not ask its node, which says nothing of a transaction that was sent. */
function throwUnasked(cause: unknown): never {
  throw new ChainError('the wallet cannot ask its node', { cause })
}

/** Waits for the end of a transaction that was sent. A look at the chain that fails says nothing of it. */
async function waitUntil(patience: Patience, isDone: () => Promise<boolean>): Promise<void> {
  const { now, wait, patienceMs = TRANSACTION_PATIENCE_MS } = patience
  const end = now().getTime() + patienceMs
  const look = async (): Promise<boolean> => {
    try {
      return await askDespiteOutages(patience, end, isDone)
    } catch (error) {
      if (!isOutage(error)) throw error
      throw new ClientError('timeout', `the transaction was sent, and nobody says what became of it: ${error.message}`)
    }
  }
  while (!(await look())) {
    if (now().getTime() >= end)
      throw new ClientError('timeout', 'the transaction was sent, and was not included in time')
    await wait(POLL_MS)
  }
}

function refuseByChain(message: string): never {
  throw new ClientError('refused-by-chain', message)
}
