/** Senders of transactions to the contract; here those of an account whose key the application holds. */
import {
  type Account,
  type Chain,
  DEFAULT_MAX_GAS_PRICE,
  isAboutOneRequest,
  isOutOfReach,
  type SignedTransaction,
  type SpendingLimits,
  type TransactionOutcome,
} from '../../src/chain/chain.ts'
import type { Address } from '../../src/offchain/address.ts'
import { ClientError, refuseByChain } from './errors.ts'
import { endOf, type Inclusion, type Patience, waitForInclusion } from './inclusion.ts'
import { askDespiteOutages } from './outage.ts'

export interface Transactor {
  readonly address: Address
  /**
   * Resolves when it is included. Rejects with a {@link ClientError}: `refused-by-chain`, `other-chain` or `timeout`.
   */
  send(to: Address, payload: Uint8Array): Promise<void>
}

export interface AccountTransactorOptions extends Patience {
  /**
   * The most that the account spends on a transaction. A unit of gas may cost 1000 gwei unless this names another
   * price, since the node alone says what it costs; chains whose coin is worth little need a higher limit.
   */
  readonly limits?: SpendingLimits
}

const POLL_MS = 200
const WHY_NOT: Readonly<Record<Exclude<TransactionOutcome, Inclusion>, string>> = {
  failed: 'was refused by the contract',
  exhausted: 'ran out of its gas: the state of the contract had changed; send it again',
  lost: 'was replaced by another one',
  expired: 'was in no block in its time; send it again',
}

function isInclusion(outcome: TransactionOutcome): outcome is Inclusion {
  return !Object.hasOwn(WHY_NOT, outcome)
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
  { limits, ...patience }: AccountTransactorOptions,
): Transactor {
  const account = chain.createAccount(key, {
    ...limits,
    mostGasPrice: limits?.mostGasPrice ?? DEFAULT_MAX_GAS_PRICE,
  })
  const send = async (use: AccountUse, to: Address, payload: Uint8Array): Promise<void> => {
    const submission = use.lastSubmission.then(() => signAndSubmit(account, use, patience, { to, payload }))
    use.lastSubmission = submission.catch(() => undefined)
    const transaction = await submission
    try {
      await waitForInclusion(patience, transaction.hash, async () => {
        const outcome = await account.fetchOutcome(transaction)
        return isInclusion(outcome) ? outcome : refuseByChain(`the transaction ${transaction.hash} ${WHY_NOT[outcome]}`)
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
  const sign = async (): Promise<SignedTransaction> => {
    let nonce = await fetchNonceAfterIncluded(account, use, patience)
    // A node may be late with what it counts, and those of Partisia count no waiting transaction at all.
    while (use.pendingNonces.has(nonce)) nonce += 1
    return account.sign(to, payload, 0n, nonce)
  }
  const transaction = await sign().catch((error: unknown) => {
    if (isAboutOneRequest(error)) refuseByChain(error.message)
    throw error
  })
  await submitDespiteOutages(account, transaction, patience)
  use.pendingNonces.add(transaction.nonce)
  return transaction
}

/**
 * Submits a signed transaction. Whether a node that could not be reached took it, nobody knows, and it is included once
 * at most, so that the same bytes are sent again.
 */
async function submitDespiteOutages(
  account: Account,
  transaction: SignedTransaction,
  patience: Patience,
): Promise<void> {
  const { hash } = transaction
  try {
    await askDespiteOutages(patience, endOf(patience), () => account.submit(transaction), isOutOfReach)
  } catch (error) {
    if (isAboutOneRequest(error)) refuseByChain(`the transaction ${hash} was not taken: ${error.message}`)
    if (!isOutOfReach(error)) throw error
    throw new ClientError('timeout', `the transaction ${hash} may have been sent, and nobody says so: ${error.message}`)
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
