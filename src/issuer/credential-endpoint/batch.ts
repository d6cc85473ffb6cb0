/** How many credentials one request may have, each for a key of its own. OpenID4VCI 1.0, Batch Credential Issuance. */
import { setImmediate } from 'node:timers/promises'
import { type JsonObject, own } from '../../codec/json.ts'
import type { IssuerContext } from '../context.ts'
import type { IssuanceSession } from '../session.ts'

/** The most credentials that one request for this configuration gets. It was checked when it was posted. */
export function batchSizeOf(configuration: JsonObject | undefined): number {
  const size = configuration === undefined ? undefined : own(configuration, 'batch_size')
  return typeof size === 'number' ? size : 1
}

/** The largest batch size among the configurations; 1 of none. */
export function largestBatch(configurations: readonly (JsonObject | undefined)[]): number {
  return Math.max(1, ...configurations.map(batchSizeOf))
}

/**
 * As many key proofs as a wallet may send that knows the metadata: there the issuer has one number for all configurations,
 * so that a wallet cannot know that of the one it asks for.
 */
export async function mostProofs(context: IssuerContext, session: IssuanceSession): Promise<number> {
  const ofSession = largestBatch(await Promise.all(session.configurationIds.map((id) => context.configuration(id))))
  if (context.config.issuer.identifier === 'session') return ofSession
  return Math.max(ofSession, (await context.offeredConfigurations.get()).batchSize)
}

/** Does the work for each in turn, and lets other requests have theirs in between. */
export async function inTurn<T, R>(each: readonly T[], work: (one: T) => R | Promise<R>): Promise<readonly R[]> {
  const done: R[] = []
  for (const one of each) {
    if (done.length > 0) await setImmediate()
    done.push(await work(one))
  }
  return done
}
