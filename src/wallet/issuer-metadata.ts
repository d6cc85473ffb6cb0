/** The metadata of an issuer and its credentials. OpenID4VCI 1.0, Credential Issuer Metadata. */
import { isObject, type Json, type JsonObject, memberOf, stringMemberOf, stringsIn } from '../codec/json.ts'
import { isClaimPath } from '../protocol/claim-path.ts'
import type { ClaimPath } from '../protocol/claim-path-text.ts'
import { chooseDisplay } from '../protocol/display-language.ts'
import { makeIssuerMetadataUrl, requireAddress } from './address.ts'
import type { WalletContext } from './context.ts'
import { type CredentialEncryption, readCredentialEncryption } from './credential-encryption.ts'
import { refuseWith } from './error.ts'
import { exchangeJson } from './exchange.ts'
import { metaText, requireHeldFormat } from './held-format.ts'
import { chooseProofKey, type ProofKey } from './proof-key.ts'

export interface IssuerDescription {
  readonly credentialIssuer: string
  readonly name: string | undefined
  readonly credentialEndpoint: string
  /** The required encryption of requests and responses; undefined if none is required. */
  readonly encryption: CredentialEncryption | undefined
  readonly nonceEndpoint: string | undefined
  readonly deferredCredentialEndpoint: string | undefined
  readonly notificationEndpoint: string | undefined
  readonly authorizationServers: readonly string[]
  /** The maximum number of key proofs in a request. */
  readonly batchSize: number
  readonly configurations: JsonObject
}

type Languages = WalletContext['languages']

/** The parts of an offered credential that the wallet needs. */
export interface OfferedCredential {
  readonly configurationId: string
  readonly format: string
  /** The type of the credential, as `meta` of a query. */
  readonly meta: JsonObject
  /** The kind of key to make, and how key proofs name it. */
  readonly proofKey: ProofKey
  readonly name: string
  /** The display description of the credential in a language of the holder or the first, as in the metadata. */
  readonly display: JsonObject | undefined
  readonly claimNames: readonly ClaimName[]
}

/** The label of a claim. */
export interface ClaimName {
  readonly path: ClaimPath
  readonly name: string
}

/** Fetches the metadata of an issuer. Refuses with `invalid_metadata` if it is incomplete or about another issuer. */
export async function fetchIssuerMetadata(wallet: WalletContext, credentialIssuer: string): Promise<IssuerDescription> {
  const metadata = await exchangeJson(wallet, {
    what: 'fetched the issuer metadata',
    means: 'Where the issuer takes requests, and what it can issue. It must name the very issuer of the offer.',
    spec: 'OpenID4VCI 1.0, Credential Issuer Metadata Retrieval',
    url: makeIssuerMetadataUrl(credentialIssuer),
  })
  // Identifiers are compared exactly, so that no issuer can pose as another. OpenID4VCI 1.0, Credential Issuer Metadata
  // Parameters.
  if (memberOf(metadata, 'credential_issuer') !== credentialIssuer) {
    refuseWith('invalid_metadata', `the metadata of ${credentialIssuer} is about another credential_issuer`)
  }
  return {
    credentialIssuer,
    name: displayName(metadata, wallet.languages),
    credentialEndpoint: requireEndpoint(memberOf(metadata, 'credential_endpoint'), 'credential_endpoint'),
    encryption: readCredentialEncryption(metadata),
    nonceEndpoint: readOptionalEndpoint(metadata, 'nonce_endpoint'),
    deferredCredentialEndpoint: readOptionalEndpoint(metadata, 'deferred_credential_endpoint'),
    notificationEndpoint: readOptionalEndpoint(metadata, 'notification_endpoint'),
    authorizationServers: readServers(memberOf(metadata, 'authorization_servers'), credentialIssuer),
    batchSize: readBatchSize(memberOf(memberOf(metadata, 'batch_credential_issuance'), 'batch_size')),
    configurations: requireObjectMember(metadata, 'credential_configurations_supported'),
  }
}

/**
 * Returns an offered credential. Refuses with `invalid_metadata` an unknown configuration id, and with `unsupported` a
 * credential that this wallet does not support.
 */
export function readOfferedCredential(
  { attestKeys, languages }: Pick<WalletContext, 'attestKeys' | 'languages'>,
  issuer: IssuerDescription,
  configurationId: string,
): OfferedCredential {
  const configuration = memberOf(issuer.configurations, configurationId)
  if (!isObject(configuration)) {
    return refuseWith('invalid_metadata', `the issuer does not describe the credential ${configurationId}`)
  }
  const format = stringMemberOf(configuration, 'format') ?? ''
  const meta = requireHeldFormat(format).metaOf(configuration)
  const metadata = memberOf(configuration, 'credential_metadata')
  return {
    configurationId,
    format,
    meta,
    proofKey: chooseProofKey(configuration, attestKeys !== undefined),
    name: displayName(metadata, languages) ?? metaText(meta) ?? configurationId,
    display: displayOf(metadata, languages),
    claimNames: readClaimNames(memberOf(metadata, 'claims'), languages),
  }
}

/**
 * Returns the authorization servers; by default the issuer itself. OpenID4VCI 1.0, Credential Issuer Metadata
 * Parameters.
 */
function readServers(value: Json | undefined, credentialIssuer: string): readonly string[] {
  if (value === undefined) return [credentialIssuer]
  const servers = stringsIn(value)
  if (servers.length > 0) return servers
  return refuseWith('invalid_metadata', 'authorization_servers of the issuer is not a non-empty array of strings')
}

/** Returns the batch size; 1 if it is absent or invalid. OpenID4VCI 1.0, Credential Issuer Metadata Parameters. */
function readBatchSize(value: Json | undefined): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 1 ? value : 1
}

function displayOf(metadata: Json | undefined, languages: Languages): JsonObject | undefined {
  const value = memberOf(metadata, 'display')
  const displays = (Array.isArray(value) ? value : []).flatMap((display) => {
    return isObject(display) ? [{ display, locale: stringMemberOf(display, 'locale') }] : []
  })
  return chooseDisplay(displays, languages ?? [])?.display
}

function displayName(metadata: Json | undefined, languages: Languages): string | undefined {
  const name = memberOf(displayOf(metadata, languages), 'name')
  return typeof name === 'string' && name !== '' ? name : undefined
}

function readClaimNames(claims: Json | undefined, languages: Languages): readonly ClaimName[] {
  return (Array.isArray(claims) ? claims : []).flatMap((claim) => {
    const [path, name] = [memberOf(claim, 'path'), displayName(claim, languages)]
    return isClaimPath(path) && name !== undefined ? [{ path, name }] : []
  })
}

function requireEndpoint(value: Json | undefined, name: string): string {
  return requireAddress(value, `${name} of the issuer`, 'invalid_metadata')
}

function readOptionalEndpoint(metadata: JsonObject, name: string): string | undefined {
  const value = memberOf(metadata, name)
  return value === undefined ? undefined : requireEndpoint(value, name)
}

function requireObjectMember(object: JsonObject, name: string): JsonObject {
  const value = memberOf(object, name)
  return isObject(value) ? value : refuseWith('invalid_metadata', `${name} of the issuer is not an object`)
}
