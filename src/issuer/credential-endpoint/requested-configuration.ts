/**
 * Which credential a request is for: by the identifier from authorization details, by its configuration, or by its format as
 * wallets of drafts up to 14 ask. OpenID4VCI 1.0, Credential Request.
 */
import { isObject, type Json, type JsonObject, own } from '../../codec/json.ts'
import { TYPE_MEMBERS } from '../../credential/schema.ts'
import { refuse } from '../../protocol/error.ts'
import type { CredentialRequest } from '../../protocol/oid4vci.ts'
import type { IssuerContext } from '../context.ts'
import type { IssuanceSession } from '../session.ts'
import { configurationOfIdentifier } from '../token-endpoint/authorization-details.ts'

export interface RequestedConfiguration {
  readonly configurationId: string
  readonly configuration: JsonObject
}

/** Whether the wallet asks as drafts up to 14 did. */
export function asksByFormat(request: CredentialRequest): boolean {
  const { credential_identifier: identifier, credential_configuration_id: id, format } = request
  return identifier === undefined && id === undefined && format !== undefined
}

/**
 * The configuration that a request is for. A token that authorization details narrowed has one credential for each configuration,
 * so that a wallet may name the configuration in the place of its identifier. Refuses with `unknown_credential_configuration`,
 * `unknown_credential_identifier`, `insufficient_scope`, or `invalid_credential_request` when the request says neither, or names
 * a credential that the token is not for.
 */
export async function requestedConfiguration(
  context: IssuerContext,
  session: IssuanceSession,
  request: CredentialRequest,
): Promise<RequestedConfiguration> {
  const authorized = session.token?.authorized
  if (request.credential_identifier !== undefined) return byIdentifier(context, authorized ?? [], request)
  const requested = asksByFormat(request)
    ? await byFormat(context, session, request)
    : await byConfiguration(context, session, request)
  if (authorized !== undefined && !authorized.includes(requested.configurationId)) {
    refuse(
      'invalid_credential_request',
      'the access token is for other credentials; send one of the credential_identifiers of the token response',
    )
  }
  return requested
}

async function byIdentifier(
  context: IssuerContext,
  authorized: readonly string[],
  request: CredentialRequest,
): Promise<RequestedConfiguration> {
  const id = configurationOfIdentifier(authorized, request.credential_identifier)
  if (id === undefined) {
    const how = authorized.length > 0 ? 'send one of the token response' : 'send credential_configuration_id'
    return refuse('unknown_credential_identifier', `this credential identifier was not given; ${how}`)
  }
  if (request.credential_configuration_id !== undefined) {
    refuse('invalid_credential_request', 'send credential_identifier and no credential_configuration_id')
  }
  return known(context, id)
}

async function byConfiguration(
  context: IssuerContext,
  session: IssuanceSession,
  { credential_configuration_id: id }: CredentialRequest,
): Promise<RequestedConfiguration> {
  if (typeof id !== 'string') {
    return refuse('invalid_credential_request', 'credential_configuration_id is missing; send one of the offer')
  }
  const requested = await known(context, id)
  if (!session.configurationIds.includes(id)) {
    refuse('insufficient_scope', 'the access token is for other credential configurations')
  }
  return requested
}

async function known(context: IssuerContext, configurationId: string): Promise<RequestedConfiguration> {
  const configuration = await context.configuration(configurationId)
  return configuration === undefined
    ? refuse('unknown_credential_configuration', 'there is no such credential configuration')
    : { configurationId, configuration }
}

async function byFormat(
  context: IssuerContext,
  session: IssuanceSession,
  request: CredentialRequest,
): Promise<RequestedConfiguration> {
  if (!TYPE_MEMBERS.some((name) => request[name] !== undefined)) {
    refuse(
      'invalid_credential_request',
      'send credential_configuration_id; a format, as drafts up to 14 have it, needs credential_definition, vct or doctype',
    )
  }
  const offered = await Promise.all(
    (session.token?.authorized ?? session.configurationIds).map((id) => known(context, id)),
  )
  const [first, ...more] = offered.filter(({ configuration }) => isMeant(configuration, request))
  if (more.length > 0) {
    refuse(
      'invalid_credential_request',
      'several offered credentials are of that kind; send credential_configuration_id',
    )
  }
  return first ?? refuse('unknown_credential_configuration', 'no offered credential is of that format and kind')
}

function isMeant(configuration: JsonObject, request: CredentialRequest): boolean {
  const format = own(configuration, 'format')
  // SD-JWT VC had another name until draft 14; what it shares the name with has no vct.
  const same = request.format === format || (request.format === 'vc+sd-jwt' && format === 'dc+sd-jwt')
  return same && TYPE_MEMBERS.every((name) => isSame(own(configuration, name), request[name] as Json | undefined))
}

function isSame(declared: Json | undefined, asked: Json | undefined): boolean {
  if (!isObject(declared) || !isObject(asked)) return declared === asked
  const context = own(asked, '@context')
  return (
    haveSame(own(declared, 'type'), own(asked, 'type')) &&
    (context === undefined || haveSame(own(declared, '@context'), context))
  )
}

/** The same elements, each once, in whatever order. */
function haveSame(one: Json | undefined, other: Json | undefined): boolean {
  if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false
  const texts = (list: readonly Json[]): ReadonlySet<string> => new Set(list.map((each) => JSON.stringify(each)))
  const [a, b] = [texts(one), texts(other)]
  return a.size === b.size && [...a].every((text) => b.has(text))
}
