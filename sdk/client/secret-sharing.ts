/**
 * Secrets that the engines of a contract keep together: each has a share, of which fewer than the threshold say
 * nothing. What an application does with one: prepare and upload, download, delete, ask how it stands. Shares are in
 * nothing that is thrown here.
 */
import type { Head, ListedEngine } from '../../src/chain/chain.ts'
import { evmAddress } from '../../src/offchain/address.ts'
import type { EngineClient } from './engine-client.ts'
import { ClientError, printable, refuseBadRequest } from './errors.ts'
import { MAX_CONFIRMING_MS } from './inclusion.ts'
import { askDespiteOutages } from './outage.ts'
import { type RetryTimeout, waitForBlock } from './retries.ts'
import { readSharing, type Sharing, sharingMethods } from './sharing-contract.ts'
import type { RequestSigner } from './signers.ts'
import type { Transactor } from './transactor.ts'

export interface SecretSharing {
  readonly client: EngineClient
  /** Signs requests to engines, as the owner of the secrets. */
  readonly signer: RequestSigner
  /** Sends transactions. Its account must be the owner that `signer` signs for. */
  readonly transactor: Transactor
  /**
   * The time for which engines may be behind the chain, or busy, before they are given up; half a minute unless given.
   * The time begins anew, for a quarter of an hour at most, while the blocks of an engine come nearer.
   */
  readonly patienceMs?: number
}

/** A sharing with the engines that it is about. */
export interface SharingState extends Sharing {
  readonly engines: readonly ListedEngine[]
  readonly block: Head
}

const MAX_ID = (1n << 128n) - 1n
export const POLL_MS = 250
export const ENGINES_PATIENCE_MS = 30_000

/** Returns the id of a text: a decimal number of 128 bits. Throws a {@link ClientError} otherwise. */
export function parseSharingId(text: string): bigint {
  const id = /^(0|[1-9]\d{0,38})$/.test(text) ? BigInt(text) : -1n
  return id >= 0n && id <= MAX_ID ? id : refuseBadRequest('the id of a sharing is a decimal number below 2^128')
}

/** Reads the state of a sharing, by the newest block; undefined when there is none of that id. */
export async function sharingStatus(client: EngineClient, id: bigint): Promise<SharingState | undefined> {
  const [block, { engines }] = await Promise.all([client.chain.fetchHead(), client.engines()])
  const sharing = await readSharing(client.chain, client.contract, id, block)
  if (sharing === undefined) return undefined
  if (sharing.commitments.length !== engines.length) {
    throw new ClientError('mixed-shares', 'the contract has other engines now than when the secret was shared')
  }
  return { ...sharing, engines, block }
}

/**
 * Reads the sharing as {@link sharingStatus} does, if it is the caller's own. Rejects with `unknown-sharing`,
 * `not-owner` or `being-deleted`.
 */
export async function requireOwnSharing({ client, transactor }: SecretSharing, id: bigint): Promise<SharingState> {
  const sharing = await sharingStatus(client, id)
  if (sharing === undefined) throw new ClientError('unknown-sharing', `there is no sharing ${id} in this contract`)
  if (sharing.owner !== transactor.address) {
    const [owner, asking] = [sharing.owner, transactor.address].map(evmAddress)
    throw new ClientError(
      'not-owner',
      `sharing ${id} belongs to ${owner}, and ${asking} asks: only its owner can do that`,
    )
  }
  if (sharing.deleting) throw new ClientError('being-deleted', `sharing ${id} is being deleted`)
  return sharing
}

/** Rejects with `incomplete-upload` unless every engine holds its share. */
export function refuseUnlessUploaded(sharing: SharingState): void {
  const missing = sharing.engines.filter((_, at) => sharing.uploaded[at] !== true)
  if (missing.length === 0) return
  const names = missing.map(({ address, endpoint }) => printable(endpoint) || address).join(', ')
  throw new ClientError('incomplete-upload', `not every engine holds its share yet; still missing: ${names}`)
}

/**
 * Sends a transaction whose effect `hasEffect` looks for. A contract refuses the second of two such transactions also
 * while the first one waits for its block, as when an upload is begun twice at once, or again after a `timeout`. So the
 * effect is waited for after a refusal, as long as the caller is patient and the client waits for confirmations;
 * rejects with the refusal when the effect does not come.
 */
export async function sendOnce(
  { client, transactor, patienceMs = ENGINES_PATIENCE_MS }: SecretSharing,
  payload: Uint8Array,
  hasEffect: () => Promise<boolean>,
): Promise<void> {
  try {
    await transactor.send(client.contract, payload)
  } catch (error) {
    if (!(error instanceof ClientError && error.code === 'refused-by-chain')) throw error
    const start = client.now().getTime()
    const head = await askDespiteOutages(client, start + patienceMs, () => client.chain.fetchHead())
    const end = start + patienceMs + head.newest.time.getTime() - head.time.getTime()
    while (!(await askDespiteOutages(client, end, hasEffect))) {
      if (client.now().getTime() >= end) throw error
      await client.wait(POLL_MS)
    }
  }
}

/**
 * Asks all engines to forget a secret, and waits until they have. `gone` is false when some have not within the time
 * that the caller is patient for; they do when they can be reached again.
 */
export async function deleteSecret(context: SecretSharing, id: bigint): Promise<{ readonly gone: boolean }> {
  const { client, transactor, patienceMs = ENGINES_PATIENCE_MS } = context
  const sharing = await sharingStatus(client, id)
  if (sharing?.deleting !== true || sharing.owner !== transactor.address) {
    refuseUnlessUploaded(await requireOwnSharing(context, id))
    await sendOnce(context, sharingMethods.deleteSharing(id), async () => {
      const later = await sharingStatus(client, id)
      return later === undefined || later.deleting
    })
  }
  return { gone: await waitUntilGone({ ...context, patienceMs }, id) }
}

/** Waits until the contract has no such sharing. The patience begins anew when an engine has reached the deletion. */
async function waitUntilGone(context: SecretSharing & RetryTimeout, id: bigint): Promise<boolean> {
  const { client, patienceMs } = context
  let end = client.now().getTime() + patienceMs
  const sharing = await askDespiteOutages(client, end, () => sharingStatus(client, id))
  if (sharing === undefined) return true
  const toldMs = patienceMs + confirmationMs(sharing.block)
  const stop = new AbortController()
  let behind = sharing.engines.length
  const postpone = async (engine: ListedEngine): Promise<void> => {
    const terms = { block: sharing.block.number, patienceMs, signal: stop.signal }
    await waitForBlock(client, engine, `/shares/${id}`, terms).catch(() => undefined)
    behind -= 1
    end = client.now().getTime() + toldMs
  }
  for (const engine of sharing.engines) void postpone(engine)
  try {
    while ((await askDespiteOutages(client, end, () => sharingStatus(client, id))) !== undefined) {
      if (behind === 0 && client.now().getTime() >= end) return false
      await client.wait(POLL_MS)
    }
    return true
  } finally {
    stop.abort()
  }
}

/** Returns the time by which a client sees what engines tell the contract later than the newest block has it. */
export function confirmationMs({ time, newest }: Head): number {
  return Math.min(MAX_CONFIRMING_MS, newest.time.getTime() - time.getTime())
}
