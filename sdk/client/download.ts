/**
 * Getting a secret back: the owner asks on the chain, fetches shares from the engines, and believes none that is not
 * the one committed to.
 */
import { bytesToHex } from '@noble/hashes/utils.js'
import type { ListedEngine } from '../../src/chain/chain.ts'
import { ClientError, EngineError } from './errors.ts'
import { fanOut } from './fan-out.ts'
import { askUntilAccepted } from './retries.ts'
import {
  ENGINES_PATIENCE_MS,
  refuseUnlessUploaded,
  requireOwnSharing,
  type SecretSharing,
  type SharingState,
} from './secret-sharing.ts'
import { checkThreshold, combineShares, commitmentOf, type Scheme, type Share } from './shares.ts'
import { sharingMethods } from './sharing-contract.ts'

export interface Download {
  readonly id: bigint
  /** The scheme that the secret was shared by; `shamir` unless given. */
  readonly scheme?: Scheme
  /**
   * Whether to ask every engine, so that each that gives a wrong share is found; otherwise no longer than until there
   * are enough.
   */
  readonly askAll?: boolean
}

export interface DownloadedSecret {
  readonly secret: Uint8Array
  /** The errors of engines that were not needed; `wrong-share` names one that gave another share than it took. */
  readonly errors: readonly EngineError[]
}

/**
 * Downloads a secret. Rejects with a {@link ClientError}: `unknown-sharing`, `not-owner`, `being-deleted`,
 * `incomplete-upload`, `bad-request` for a threshold that the scheme does not have; or `too-few-shares`, whose
 * `engines` say what each did.
 */
export async function downloadSecret(context: SecretSharing, download: Download): Promise<DownloadedSecret> {
  const { id, scheme = 'shamir', askAll = false } = download
  const { client, transactor } = context
  const before = await requireOwnSharing(context, id)
  checkThreshold({ scheme, threshold: before.threshold, shares: before.engines.length })
  refuseUnlessUploaded(before)
  await transactor.send(client.contract, sharingMethods.requestDownload(id))
  const sharing = await requireOwnSharing(context, id)
  const { threshold, engines } = sharing
  const enough = askAll ? engines.length : threshold
  const { answers, errors } = await fanOut(engines, enough, (engine, signal, index) =>
    fetchShare(context, { id, sharing, engine, index }, signal),
  )
  if (answers.length < threshold) {
    const reasons = errors.map(({ message }) => message).join('; ')
    const message = `${threshold} shares are needed, and ${answers.length} came: ${reasons}`
    throw new ClientError('too-few-shares', message, errors)
  }
  return { secret: await combineShares(answers, threshold, scheme), errors }
}

interface ShareRequest {
  readonly id: bigint
  readonly sharing: SharingState
  readonly engine: ListedEngine
  readonly index: number
}

async function fetchShare(context: SecretSharing, expected: ShareRequest, signal: AbortSignal): Promise<Share> {
  const { client, signer, patienceMs = ENGINES_PATIENCE_MS } = context
  const { id, sharing, engine, index } = expected
  const request = { method: 'GET', path: `/shares/${id}`, signer }
  const { body } = await askUntilAccepted(client, engine, request, { block: sharing.block.number, patienceMs, signal })
  const commitment = sharing.commitments[index]
  if (commitment === undefined || bytesToHex(commitmentOf(body)) !== bytesToHex(commitment)) {
    throw new EngineError(engine, 'wrong-share')
  }
  return { index, bytes: body }
}
