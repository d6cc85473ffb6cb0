/**
 * Sharing a secret: its shares are made once, registered by their commitments, and brought to every engine; what is
 * missing can be brought later.
 */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import type { ListedEngine } from '../../src/chain/chain.ts'
import type { Address } from '../../src/offchain/address.ts'
import { ClientError, type EngineError, refuseBadRequest } from './errors.ts'
import { fanOut } from './fan-out.ts'
import { askDespiteOutages } from './outage.ts'
import { askUntilAccepted } from './retries.ts'
import {
  confirmationMs,
  ENGINES_PATIENCE_MS,
  POLL_MS,
  parseSharingId,
  requireOwnSharing,
  type SecretSharing,
  type SharingState,
  sendOnce,
  sharingStatus,
} from './secret-sharing.ts'
import { commitmentOf, type Scheme, splitSecret } from './shares.ts'
import { sharingMethods } from './sharing-contract.ts'

/**
 * Everything that is needed to begin an upload, and to go on with it after it was interrupted: a plain object that can
 * be stored as JSON. It has the shares in it, and so the secret: store it as you would store that, never log it, and
 * destroy it afterwards.
 */
export interface Upload {
  readonly chain: string
  readonly contract: Address
  /** The id as a decimal number. */
  readonly id: string
  readonly threshold: number
  readonly engines: readonly Address[]
  /** The shares in hexadecimal, in the order of the engines. */
  readonly shares: readonly string[]
  readonly scheme: Scheme
}

export interface NewSecret {
  readonly secret: Uint8Array
  /** How many engines give it back; at least 2. */
  readonly threshold: number
  /** A random one unless given. */
  readonly id?: bigint
  /** `xor` needs all engines; `shamir` unless given. Whoever downloads the secret must know. */
  readonly scheme?: Scheme
}

export interface UploadOutcome {
  readonly id: string
  /** Whether every engine says on the chain that it holds its share: only then can the secret be downloaded. */
  readonly complete: boolean
  /** The outcomes in the order of the contract. */
  readonly engines: readonly {
    readonly engine: ListedEngine
    readonly uploaded: boolean
    readonly error?: EngineError
  }[]
}

const ID_BYTES = 16

/** Makes the shares; nothing is sent. Rejects with a {@link ClientError} `bad-request`. */
export async function prepareUpload(
  { client }: Pick<SecretSharing, 'client'>,
  { secret, threshold, id, scheme = 'shamir' }: NewSecret,
): Promise<Upload> {
  const { engines } = await client.engines()
  // An engine that is listed twice would get two shares: fewer engines than the threshold says would have the secret.
  if (new Set(engines.map(({ address }) => address)).size < engines.length)
    refuseBadRequest('the contract lists an engine twice: share the secret through another')
  const shares = await splitSecret(secret, { scheme, threshold, shares: engines.length, random: client.random })
  const chosen = id ?? BigInt(`0x${bytesToHex(Uint8Array.from(client.random(ID_BYTES)))}`)
  return {
    chain: client.chain.id,
    contract: client.contract,
    id: parseSharingId(String(chosen)).toString(),
    threshold,
    engines: engines.map(({ address }) => address),
    shares: shares.map(bytesToHex),
    scheme,
  }
}

/**
 * Registers the sharing unless that was done, sends each engine its share unless the chain says that it has it, and
 * waits until the chain says so of all that took theirs. To be called again with the same upload until it is
 * complete. Rejects with `id-in-use` when another sharing has its id, and with `bad-request` when the upload is of
 * another contract or for other engines.
 */
export async function upload(context: SecretSharing, prepared: Upload): Promise<UploadOutcome> {
  const { client, patienceMs = ENGINES_PATIENCE_MS } = context
  const shares = prepared.shares.map((share) => hexToBytes(share))
  const registered = await register(context, prepared, shares)
  const missing = registered.engines.filter((_, at) => registered.uploaded[at] !== true)
  const { errors } = await fanOut(missing, missing.length, async (engine, signal) => {
    const body = shares[registered.engines.indexOf(engine)] ?? new Uint8Array()
    const headers = { 'content-type': 'application/octet-stream' }
    const request = { method: 'PUT', path: `/shares/${prepared.id}`, headers, body, signer: context.signer }
    await askUntilAccepted(client, engine, request, { block: registered.block.number, patienceMs, signal })
  })
  return waitForFlags(context, prepared.id, errors, patienceMs + confirmationMs(registered.block))
}

async function register(
  context: SecretSharing,
  prepared: Upload,
  shares: readonly Uint8Array[],
): Promise<SharingState> {
  const { client, transactor } = context
  const [id, commitments] = [parseSharingId(prepared.id), shares.map(commitmentOf)]
  const { engines } = await client.engines()
  if (prepared.contract !== client.contract || prepared.chain !== client.chain.id)
    refuseBadRequest('this upload is for another contract')
  if (engines.map(({ address }) => address).join() !== prepared.engines.join()) {
    refuseBadRequest('the contract has other engines now than when the shares were made: share the secret anew')
  }
  if ((await sharingStatus(client, id)) === undefined) {
    const payload = sharingMethods.registerSharing(id, prepared.threshold, commitments)
    await sendOnce(context, payload, async () => (await sharingStatus(client, id)) !== undefined)
  }
  const sharing = await sharingStatus(client, id)
  const mine = sharing?.owner === transactor.address && sharing.threshold === prepared.threshold
  if (!mine || sharing.commitments.map(bytesToHex).join() !== commitments.map(bytesToHex).join()) {
    throw new ClientError('id-in-use', `there is another sharing with the id ${id}: take another id`)
  }
  return requireOwnSharing(context, id)
}

/** Waits for the flags of all but those that did not take their share, `mostMs` at most. */
async function waitForFlags(
  context: SecretSharing,
  id: string,
  errors: readonly EngineError[],
  mostMs: number,
): Promise<UploadOutcome> {
  const { client } = context
  const end = client.now().getTime() + mostMs
  const failed = new Map(errors.map((error) => [error.engine.address, error]))
  for (;;) {
    const poll = () => requireOwnSharing(context, parseSharingId(id))
    const { engines, uploaded } = await askDespiteOutages(client, end, poll)
    const isAwaited = engines.some(({ address }, at) => uploaded[at] !== true && !failed.has(address))
    if (!isAwaited || client.now().getTime() >= end) {
      const states = engines.map((engine, at) => {
        const error = uploaded[at] === true ? undefined : failed.get(engine.address)
        return { engine, uploaded: uploaded[at] === true, ...(error === undefined ? {} : { error }) }
      })
      return { id, complete: states.every(({ uploaded: isUploaded }) => isUploaded), engines: states }
    }
    await client.wait(POLL_MS)
  }
}
