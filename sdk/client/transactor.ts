/** Senders of transactions to the contract: an account whose key the application holds, or a wallet. */
import {
  type Account,
  type Chain,
  ChainError,
  isAboutOneRequest,
  type SignedTransaction,
  type TransactionOutcome,
} from '../../src/chain/chain.ts'
import { readQuantity, writeData, writeQuantity } from '../../src/chain/evm/values.ts'
import { isObject, memberOf } from '../../src/codec/json.ts'
import { readOrUndefined } from '../../src/codec/malformed.ts'
import { type Address, evmAddress, parseAddress } from '../../src/offchain/address.ts'
import { ClientError } from './errors.ts'
import { askDespiteOutages, isOutage } from './outage.ts'
import type { Eip1193Provider } from './signers.ts'

export interface Transactor {
  readonly address: Address
  /** Resolves when it is included. Rejects with a {@link ClientError}: `refused-by-chain`, `other-chain` or `timeout`. */
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
const WHY_NOT: Readonly<Partial<Record<TransactionOutcome, string>>> = {
  failed: 'was refused by the contract',
  exhausted: 'ran out of its gas: the state of the contract had changed; send it again',
  lost: 'was replaced by another one',
  expired: 'was in no block in its time; send it again',
}

/** The transactions of an account that this process is sending. */
interface AccountUse {
  /** The nonces of the transactions without an outcome, which the node may not count yet. */
  readonly pendingNonces: Set<number>
  /** The included transaction with the highest nonce, which the node may not count yet either. */
  lastIncluded: { readonly transaction: SignedTransaction; readonly countedBy: number } | undefined
  /** Resolves when the last transaction was submitted, or could not be. */
  lastSubmission: Promise<unknown>
  sends: number
}

/** How long a node may be late with counting an included transaction. */
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
    const submission = use.lastSubmission.then(() => signAndSubmit(account, use, patience, { to, payload }))
    use.lastSubmission = submission.catch(() => undefined)
    const transaction = await submission
    try {
      await waitUntil(patience, async () => {
        const outcome = await account.fetchOutcome(transaction)
        const whyNot = WHY_NOT[outcome]
        if (whyNot !== undefined) refuseByChain(`the transaction ${whyNot}`)
        return outcome === 'included'
      })
      const highest = use.lastIncluded?.transaction.nonce ?? -1
      if (transaction.nonce > highest) use.lastIncluded = { transaction, countedBy: patience.now().getTime() + LATE_MS }
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
  for (const [each, { sends, lastIncluded }] of accountUses)
    if (sends === 0 && (lastIncluded?.countedBy ?? 0) <= time) accountUses.delete(each)
  const use = accountUses.get(name) ?? {
    pendingNonces: new Set(),
    lastIncluded: undefined,
    lastSubmission: Promise.resolve(),
    sends: 0,
  }
  accountUses.set(name, use)
  use.sends += 1
  try {
    await work(use)
  } finally {
    use.sends -= 1
  }
}

async function signAndSubmit(
  account: Account,
  use: AccountUse,
  patience: Patience,
  { to, payload }: { readonly to: Address; readonly payload: Uint8Array },
): Promise<SignedTransaction> {
  try {
    let nonce = await fetchNonceAfterIncluded(account, use, patience)
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
 * Fetches the nonce after those of the included transactions. A node that does not count the last of these is late
 * while it has that transaction; else the chain took the transaction back, which is certain only after a time.
 */
async function fetchNonceAfterIncluded(account: Account, use: AccountUse, { now, wait }: Patience): Promise<number> {
  for (;;) {
    const accountNonce = await account.fetchNextNonce()
    // A transaction may have been included while the node was asked, so that `lastIncluded` is read afterwards.
    const { lastIncluded } = use
    if (lastIncluded === undefined || accountNonce > lastIncluded.transaction.nonce) return accountNonce
    if ((await account.fetchOutcome(lastIncluded.transaction)) === 'included') return lastIncluded.transaction.nonce + 1
    if (lastIncluded.countedBy <= now().getTime()) {
      use.lastIncluded = undefined
      return accountNonce
    }
    await wait(POLL_MS)
  }
}

/**
 * Makes a transactor for `account`, one of those that the wallet gives by `eth_requestAccounts`. A transaction counts
 * as included when the head of `chain`, which the client reads, has reached it. While the wallet is on another chain,
 * `send` rejects with a {@link ClientError} `other-chain`, and sends nothing.
 */
export function walletTransactor(
  provider: Eip1193Provider,
  account: string,
  chain: Pick<Chain, 'fetchHead' | 'id'>,
  patience: Patience,
): Transactor {
  const address = parseAddress(account)
  return {
    address,
    send: async (to, payload) => {
      await refuseOtherChain(provider, chain.id)
      // A wallet that has changed to another chain since then refuses a call that names this one.
      const chainId = writeQuantity(BigInt(chain.id))
      const call = { chainId, from: evmAddress(address), to: evmAddress(to), data: writeData(payload) }
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

/** Rejects with a {@link ClientError} `other-chain` unless the wallet is on the chain of this decimal id. */
async function refuseOtherChain(provider: Eip1193Provider, id: string): Promise<void> {
  const answer = await provider.request({ method: 'eth_chainId' })
  const walletChain = readOrUndefined(() => readQuantity(answer))
  if (walletChain?.toString() === id) return
  const reason =
    walletChain === undefined
      ? `the wallet does not say on which chain it is, and the contract is on chain ${id}`
      : `the wallet is on chain ${walletChain}, and the contract on chain ${id}: let the wallet change to that`
  throw new ClientError('other-chain', `${reason}. Nothing was sent`)
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
