/** Metadata of an issuer and of its credentials. OpenID4VCI 1.0, Credential Issuer Metadata. */
import { isObject, type Json, type JsonObject, memberOf, own, ownString, stringsIn } from '../codec/json.ts'
import { type ClaimPath, isClaimPath } from '../protocol/claim-path.ts'
import { makeWellKnownUrl, requireAddress } from './address.ts'
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
  /** The encryption of requests and responses, when the issuer requires it. */
  readonly encryption: CredentialEncryption | undefined
  readonly nonceEndpoint: string | undefined
  readonly deferredCredentialEndpoint: string | undefined
  readonly notificationEndpoint: string | undefined
  readonly authorizationServers: readonly string[]
  /** The most key proofs of one request. */
  readonly batchSize: number
  readonly configurations: JsonObject
}

/** An offered credential, as far as a wallet needs to know it. */
export interface OfferedCredential {
  readonly configurationId: string
  readonly format: string
  /** The type of the credential, as a query would name it. */
  readonly meta: JsonObject
  /** The key to make, and its name in the key proof. */
  readonly proofKey: ProofKey
  readonly name: string
  /** The first way to draw the credential that the issuer describes, as it stands there. */
  readonly display: JsonObject | undefined
  readonly claimNames: readonly ClaimName[]
}

/** The name of a claim for people. */
export interface ClaimName {
  readonly path: ClaimPath
  readonly name: string
}

/**
 * Fetches the metadata of an issuer. Refuses with `invalid_metadata` a document that is about another issuer or
 * incomplete.
 */
export async function fetchIssuerMetadata(wallet: WalletContext, credentialIssuer: string): Promise<IssuerDescription> {
  const metadata = await exchangeJson(wallet, {
    what: 'fetched the issuer metadata',
    means: 'Where the issuer takes requests, and what it can issue. It must name the very issuer of the offer.',
    spec: 'OpenID4VCI 1.0, Credential Issuer Metadata Retrieval',
    url: makeWellKnownUrl(credentialIssuer, 'openid-credential-issuer'),
  })
  // The identifiers are compared as plain text, or one issuer could stand in for another. OpenID4VCI 1.0, Credential
  // Issuer Metadata Parameters.
  if (own(metadata, 'credential_issuer') !== credentialIssuer) {
    refuseWith('invalid_metadata', `the metadata of ${credentialIssuer} is about another credential_issuer`)
  }
  return {
    credentialIssuer,
    name: displayName(metadata),
    credentialEndpoint: requireEndpoint(own(metadata, 'credential_endpoint'), 'credential_endpoint'),
    encryption: readCredentialEncryption(metadata),
    nonceEndpoint: readOptionalEndpoint(metadata, 'nonce_endpoint'),
    deferredCredentialEndpoint: readOptionalEndpoint(metadata, 'deferred_credential_endpoint'),
    notificationEndpoint: readOptionalEndpoint(metadata, 'notification_endpoint'),
    authorizationServers: readServers(own(metadata, 'authorization_servers'), credentialIssuer),
    batchSize: readBatchSize(memberOf(own(metadata, 'batch_credential_issuance'), 'batch_size')),
    configurations: requireObjectMember(metadata, 'credential_configurations_supported'),
  }
}

/**
 * Reads an offered credential. Refuses with `invalid_metadata` an id that the metadata lacks, and with `unsupported` a
 * credential that this wallet cannot hold.
 */
export function readOfferedCredential(
  { attestKeys }: Pick<WalletContext, 'attestKeys'>,
  issuer: IssuerDescription,
  configurationId: string,
): OfferedCredential {
  const configuration = own(issuer.configurations, configurationId)
  if (!isObject(configuration)) {
    return refuseWith('invalid_metadata', `the issuer does not describe the credential ${configurationId}`)
  }
  const format = ownString(configuration, 'format') ?? ''
  const meta = requireHeldFormat(format).metaOf(configuration)
  const metadata = memberOf(configuration, 'credential_metadata')
  return {
    configurationId,
    format,
    meta,
    proofKey: chooseProofKey(configuration, attestKeys !== undefined),
    name: displayName(metadata) ?? metaText(meta) ?? configurationId,
    display: firstDisplay(metadata),
    claimNames: readClaimNames(memberOf(metadata, 'claims')),
  }
}

/**
 * Reads the authorization servers; the issuer is its own unless it names some. OpenID4VCI 1.0, Credential Issuer
 * Metadata Parameters.
 */
function readServers(value: Json | undefined, credentialIssuer: string): readonly string[] {
  if (value === undefined) return [credentialIssuer]
  const servers = stringsIn(value)
  if (servers.length > 0) return servers
  return refuseWith('invalid_metadata', 'authorization_servers of the issuer is not a non-empty array of strings')
}

/**
 * Reads the batch size, which is 2 or more where there are batches; 1 for anything else. OpenID4VCI 1.0, Credential
 * Issuer Metadata Parameters.
 */
function readBatchSize(value: Json | undefined): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 1 ? value : 1
}

function firstDisplay(metadata: Json | undefined): JsonObject | undefined {
  const displays = memberOf(metadata, 'display')
  const first = Array.isArray(displays) ? displays[0] : undefined
  return isObject(first) ? first : undefined
}

function displayName(metadata: Json | undefined): string | undefined {
  const name = memberOf(firstDisplay(metadata), 'name')
  return typeof name === 'string' && name !== '' ? name : undefined
}

function readClaimNames(claims: Json | undefined): readonly ClaimName[] {
  return (Array.isArray(claims) ? claims : []).flatMap((claim) => {
    const [path, name] = [memberOf(claim, 'path'), displayName(claim)]
    return isClaimPath(path) && name !== undefined ? [{ path, name }] : []
  })
}

function requireEndpoint(value: Json | undefined, name: string): string {
  return requireAddress(value, `${name} of the issuer`, 'invalid_metadata')
}

function readOptionalEndpoint(metadata: JsonObject, name: string): string | undefined {
  const value = own(metadata, name)
  return value === undefined ? undefined : requireEndpoint(value, name)
}

function requireObjectMember(object: JsonObject, name: string): JsonObject {
  const value = own(object, name)
  return isObject(value) ? value : refuseWith('invalid_metadata', `${name} of the issuer is not an object`)
}
