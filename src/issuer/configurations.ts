/** Credential configurations: what the issuer can issue. OpenID4VCI 1.0, Credential Issuer Metadata Parameters. */
import { toBase64url } from '../codec/base64url.ts'
import { type JsonObject, own, ownString } from '../codec/json.ts'
import type { CredentialFormat } from '../credential/format.ts'
import { formatOf, supportedFormats } from '../credential/formats.ts'
import { recorded } from '../event/event.ts'
import { refuse } from '../protocol/error.ts'
import type { CredentialConfiguration } from '../protocol/oid4vci.ts'
import { updateWith } from '../store/store.ts'
import type { StoredConfiguration } from './collections.ts'
import type { IssuerContext } from './context.ts'
import { checkCredentialMetadata } from './credential-metadata.ts'
import { refuseUnattestable } from './proof-types.ts'

/** Stores the configuration as it was posted and gives its id. Refuses with `invalid_request`, naming the path. */
export async function createConfiguration(
  context: IssuerContext,
  posted: CredentialConfiguration,
  caller: string,
): Promise<string> {
  const { format, revocable, status } = posted
  formatOrRefuse(format).checkConfiguration(posted as JsonObject)
  if (revocable === false && status !== undefined) {
    refuse('invalid_request', 'status: credentials that are not revocable have none; leave one of the two out')
  }
  checkCredentialMetadata(posted)
  refuseUnattestable(posted, context.config)
  const id = toBase64url(context.random(16))
  const value: StoredConfiguration = { configuration: posted as JsonObject, removed: false }
  await context.store.commit([
    { insert: 'credential_configuration', id, value },
    recorded({ type: 'configuration.created', at: context.now().getTime(), subject: id, caller }, context.random),
  ])
  context.offeredConfigurations.forget()
  return id
}

/** The configuration as it was posted. Refuses with `not_found`. */
export async function getConfiguration(context: IssuerContext, id: string): Promise<JsonObject> {
  return (await offeredConfiguration(context, id)) ?? refuseUnknown(id)
}

/** A configuration that new sessions may name; undefined when there is none, or none any more. */
export async function offeredConfiguration({ store }: IssuerContext, id: string): Promise<JsonObject | undefined> {
  const row = await store.get('credential_configuration', id)
  return row?.value.removed === false ? row.value.configuration : undefined
}

/** Takes the configuration away from new sessions; those that name it keep working. Refuses with `not_found`. */
export async function removeConfiguration(context: IssuerContext, id: string, caller: string): Promise<void> {
  const at = context.now().getTime()
  const also = [recorded({ type: 'configuration.removed', at, subject: id, caller }, context.random)]
  const known = await updateWith(context, 'credential_configuration', id, (stored) =>
    stored.removed ? refuseUnknown(id) : { value: { ...stored, removed: true }, also },
  )
  if (known === undefined) refuseUnknown(id)
  context.offeredConfigurations.forget()
}

/** The format of a stored configuration, which was checked when it was posted. */
export function formatOfConfiguration(configuration: JsonObject): CredentialFormat {
  return formatOrRefuse(ownString(configuration, 'format') ?? '')
}

function formatOrRefuse(format: string): CredentialFormat {
  return (
    formatOf(format) ?? refuse('invalid_request', `format: ${format} is unknown; use ${supportedFormats.join(' or ')}`)
  )
}

function refuseUnknown(id: string): never {
  return refuse('not_found', `there is no credential configuration ${id}`)
}

/** The most credentials that one request for this configuration gets. It was checked when it was posted. */
export function batchSizeOf(configuration: JsonObject | undefined): number {
  const size = configuration === undefined ? undefined : own(configuration, 'batch_size')
  return typeof size === 'number' ? size : 1
}

/** The largest batch size among the configurations; 1 of none. */
export function largestBatch(configurations: readonly (JsonObject | undefined)[]): number {
  return Math.max(1, ...configurations.map(batchSizeOf))
}
