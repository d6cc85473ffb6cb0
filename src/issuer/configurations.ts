/**
 * Credential configurations: the credentials that the issuer can issue. OpenID4VCI 1.0, Credential Issuer Metadata
 * Parameters.
 */
import { cacheById } from '../async/cache.ts'
import { toBase64url } from '../codec/base64url.ts'
import { parseConfiguration } from '../credential/configuration.ts'
import type { Configuration } from '../credential/format.ts'
import { makeEventChange } from '../event/event.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { ProtocolError, refuse } from '../protocol/error.ts'
import { updateWith } from '../store/store.ts'
import type { StoredConfiguration } from './collections.ts'
import type { IssuerConfig } from './config.ts'
import { configurationMetadata } from './configuration-metadata.ts'
import { refuseUnfitConfiguration } from './configuration-rules.ts'
import type { IssuerContext, LoadedConfiguration } from './context.ts'
import { findImageWarnings } from './credential-metadata-rules.ts'
import { findEndOfNeed } from './end-of-need.ts'
import { profileProblem } from './haip.ts'

/** The maximum number of parsed configurations in the cache. */
const MAX_CACHED_CONFIGURATIONS = 1000
/**
 * The maximum size of all configurations together, which the metadata of the service has: the reference wallet reads
 * 1 MiB, of which this leaves 64 KiB for the other members.
 */
const MAX_OFFERED_BYTES = (1024 - 64) * 1024

/**
 * Validates and stores a posted configuration, and returns its id. Refuses with `invalid_request` and the path of the
 * mistake.
 */
export async function createConfiguration(
  context: IssuerContext,
  posted: CredentialConfiguration,
  caller: string,
): Promise<string> {
  const configuration = parseConfiguration(posted)
  await refuseUnfitConfiguration(context, configuration)
  const offered = await context.offeredConfigurationsText.get()
  const addedText = JSON.stringify(configurationMetadata(configuration, context.keys.credentialSigner, context.config))
  refuseLargeMetadata(offered.json.byteLength + Buffer.byteLength(addedText))
  const id = toBase64url(context.random(16))
  const value: StoredConfiguration = { configuration: posted, removed: false }
  await context.store.commit([
    { insert: 'credential_configuration', id, value },
    makeEventChange(
      { type: 'configuration.created', at: context.now().getTime(), subject: id, caller },
      context.random,
    ),
  ])
  context.offeredConfigurationsText.invalidate()
  context.typeMetadata.invalidate()
  await refuseAfterOthers(context, id, caller)
  return id
}

/** Returns the configuration as it was posted. Refuses with `not_found`. */
export async function getConfiguration({ store }: IssuerContext, id: string): Promise<CredentialConfiguration> {
  const row = await store.get('credential_configuration', id)
  return row?.value.removed === false ? row.value.configuration : refuseUnknownConfiguration(id)
}

/** Returns a configuration for a new session; undefined if it is unknown or removed, or if the profile excludes it. */
export async function loadOffered(context: IssuerContext, id: string): Promise<LoadedConfiguration | undefined> {
  const row = await context.store.get('credential_configuration', id)
  return row !== undefined && isOffered(row.value, context.config) ? context.loadConfiguration(id) : undefined
}

/** Tests whether new sessions and wallets may ask for the configuration. */
export function isOffered(
  { configuration, removed }: StoredConfiguration,
  { profile }: Pick<IssuerConfig, 'profile'>,
): boolean {
  return !removed && (profile === undefined || profileProblem(configuration) === undefined)
}

/** Tests whether the metadata of the service lists the configuration: it is offered, or sessions may need it. */
export function isListed(stored: StoredConfiguration, config: Pick<IssuerConfig, 'profile'>, now: Date): boolean {
  const { removed, listedUntil = 0 } = stored
  return isOffered({ ...stored, removed: removed && now.getTime() >= listedUntil }, config)
}

/**
 * Removes a new configuration again and refuses it, if others that were stored at the same time leave no room for it.
 */
async function refuseAfterOthers(context: IssuerContext, id: string, caller: string): Promise<void> {
  const { json } = await context.offeredConfigurationsText.get()
  if (json.byteLength > MAX_OFFERED_BYTES) await recordRemoval(context, id, { caller, listedUntil: undefined })
  refuseLargeMetadata(json.byteLength)
}

/** Refuses with `invalid_request` if the metadata of all configurations, of `size` bytes, is more than wallets read. */
function refuseLargeMetadata(size: number): void {
  if (size <= MAX_OFFERED_BYTES) return
  const hint = 'name images by https: URLs in place of data: URIs, use shorter texts, or remove configurations'
  refuse(
    'invalid_request',
    `the metadata of all configurations would have ${size} bytes, and wallets read ${MAX_OFFERED_BYTES}; ${hint}`,
  )
}

/**
 * Creates the function that loads and parses a configuration, removed or not, and caches it; configurations never
 * change. If the format does not accept a configuration of an earlier release any more, the function logs it and
 * returns undefined. It also logs images that some wallets cannot read.
 */
export function createConfigurationLoader({
  store,
  log,
}: Pick<IssuerContext, 'store' | 'log'>): IssuerContext['loadConfiguration'] {
  return cacheById(MAX_CACHED_CONFIGURATIONS, async (id) => {
    const row = await store.get('credential_configuration', id)
    if (row?.value.removed === false) logImageWarnings(log, id, row.value.configuration)
    try {
      return row && { ...parseConfiguration(row.value.configuration), id }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      const line = { event: 'configuration_unreadable', id, why: error.message }
      log.error(line, 'a stored configuration cannot be read; declare it anew')
      return undefined
    }
  })
}

function logImageWarnings(log: IssuerContext['log'], id: string, configuration: CredentialConfiguration): void {
  for (const problem of findImageWarnings(configuration)) {
    const warning = `credential configuration ${id}: ${problem}`
    log.warn({ event: 'configuration_warning', warning }, warning)
  }
}

/**
 * Removes the configuration for new sessions. Existing sessions keep it, and the metadata of the service lists it as
 * long as these may need it there. Refuses with `not_found`.
 */
export async function removeConfiguration(context: IssuerContext, id: string, caller: string): Promise<void> {
  await getConfiguration(context, id)
  await recordRemoval(context, id, { caller, listedUntil: await findEndOfNeed(context, id) })
}

async function recordRemoval(
  context: IssuerContext,
  id: string,
  { caller, listedUntil }: { readonly caller: string; readonly listedUntil: number | undefined },
): Promise<void> {
  const at = context.now().getTime()
  const otherChanges = [makeEventChange({ type: 'configuration.removed', at, subject: id, caller }, context.random)]
  const removedConfiguration = await updateWith(context, 'credential_configuration', id, (configuration) =>
    configuration.removed
      ? refuseUnknownConfiguration(id)
      : { value: { ...configuration, removed: true, ...(listedUntil && { listedUntil }) }, otherChanges },
  )
  if (removedConfiguration === undefined) refuseUnknownConfiguration(id)
  context.offeredConfigurationsText.invalidate()
}

function refuseUnknownConfiguration(id: string): never {
  return refuse('not_found', `there is no credential configuration ${id}`)
}

/** Loads the configurations with these ids, and returns the ids of those that have a scope, by scope. */
export async function groupByScope(
  { loadConfiguration }: Pick<IssuerContext, 'loadConfiguration'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const configurations = await Promise.all(ids.map(loadConfiguration))
  const idsByScope = new Map<string, readonly string[]>()
  for (const { id, posted } of configurations.filter((each) => each !== undefined)) {
    const { scope } = posted
    if (scope !== undefined) idsByScope.set(scope, [...(idsByScope.get(scope) ?? []), id])
  }
  return idsByScope
}

/** Returns the largest batch size of the configurations; 1 if there are none. */
export function largestBatch(configurations: readonly (Configuration | undefined)[]): number {
  return Math.max(1, ...configurations.map((configuration) => configuration?.batchSize ?? 1))
}
