/**
 * The issuer metadata (OpenID4VCI 1.0, Credential Issuer Metadata). It has the identifier that matches its URL: that of
 * a session, or that of the service.
 */
import { hash } from 'node:crypto'
import { cacheDerived } from '../async/cache.ts'
import { makeRegistrationEntry } from '../config/registration-certificate.ts'
import type { PublicDocument } from '../http/document.ts'
import type { IssuerMetadata } from '../protocol/oid4vci.ts'
import { requireIssuanceSession } from './collections.ts'
import type { IssuerConfig } from './config.ts'
import type { ConfigurationsText, IssuerContext, MetadataVersion } from './context.ts'
import { issuerEncryptionMetadata } from './credential-endpoint/encryption.ts'
import { DRAFT15_DEFERRED_PATH, draft15EncryptionMetadata } from './credential-endpoint/older-drafts.ts'
import { credentialIssuerIdentifier, endpointUrl, ISSUER_PATHS } from './issuer-addresses.ts'

/** The length of an entity tag: 16 bytes of a digest in base64url. */
const ETAG_LENGTH = 22

/** The parts of the context that the shared members depend on. */
type SharedContext = Pick<IssuerContext, 'config' | 'decryptionKeys'>

/** The members that differ between sessions. */
type OwnMember = 'credential_issuer' | 'authorization_servers' | 'nonce_endpoint' | 'notification_endpoint'

/** Makes the issuer metadata of a session, or of the service. Refuses with `not_found` an unknown session. */
export async function makeIssuerMetadata(
  context: IssuerContext,
  sessionId: string | undefined,
  version: MetadataVersion,
): Promise<PublicDocument> {
  const { config } = context
  const identifier = credentialIssuerIdentifier(config, sessionId)
  const configurations = await (sessionId === undefined
    ? context.offeredConfigurationsText.get()
    : makeSessionConfigurationsText(context, sessionId, version))
  const ownMembers: Pick<IssuerMetadata, OwnMember> = {
    credential_issuer: identifier,
    authorization_servers: [config.authorizationServer?.issuer ?? identifier],
    nonce_endpoint: endpointUrl(config.baseUrl, ISSUER_PATHS.nonce, sessionId),
    notification_endpoint: endpointUrl(config.baseUrl, ISSUER_PATHS.notification, sessionId),
  }
  const sharedText = context.getSharedMembersText(configurations.batchSize, version)
  const head = `${JSON.stringify(ownMembers).slice(0, -1)},${sharedText}`
  const etag = `"${hash('sha256', head + configurations.digest, 'base64url').slice(0, ETAG_LENGTH)}"`
  return { etag, parts: [Buffer.from(head), configurations.json, Buffer.from('}')] }
}

/** Creates the function that returns the text of {@link makeSharedText}, made once for each configuration. */
export function createSharedMembersText(
  getConfig: () => IssuerConfig,
  decryptionKeys: SharedContext['decryptionKeys'],
): IssuerContext['getSharedMembersText'] {
  const getTexts = cacheDerived(getConfig, () => new Map<string, string>())
  return (batchSize, version) => {
    const texts = getTexts()
    const key = `${version}/${batchSize}`
    const text = texts.get(key) ?? makeSharedText({ config: getConfig(), decryptionKeys }, batchSize, version)
    texts.set(key, text)
    return text
  }
}

/**
 * Makes the text of the members that do not differ between sessions, up to the value of
 * `credential_configurations_supported`. The text is kept: beside `batchSize` and `version` it may depend only on what
 * stays the same while the service runs.
 */
function makeSharedText(context: SharedContext, batchSize: number, version: MetadataVersion): string {
  const { config } = context
  const sharedMembers: Omit<IssuerMetadata, OwnMember | 'credential_configurations_supported'> = {
    credential_endpoint: config.baseUrl + ISSUER_PATHS.credential,
    deferred_credential_endpoint:
      config.baseUrl + (version === 'final' ? ISSUER_PATHS.deferredCredential : DRAFT15_DEFERRED_PATH),
    ...(batchSize > 1 ? { batch_credential_issuance: { batch_size: batchSize } } : {}),
    ...(version === 'final' ? issuerEncryptionMetadata(context) : draft15EncryptionMetadata(context)),
    display: [...config.issuer.names],
    ...(version === 'final' && issuerInformation(config.registrationCertificate)),
  }
  return `${JSON.stringify(sharedMembers).slice(1, -1)},"credential_configurations_supported":`
}

/** Makes the Issuer Information of ETSI TS 119 472-3. */
function issuerInformation(certificate: string | undefined): Pick<IssuerMetadata, 'issuer_info'> {
  return certificate === undefined ? {} : { issuer_info: [makeRegistrationEntry(certificate)] }
}

async function makeSessionConfigurationsText(
  context: IssuerContext,
  sessionId: string,
  version: MetadataVersion,
): Promise<ConfigurationsText> {
  const { configurationIds } = await requireIssuanceSession(context.store, sessionId)
  return context.makeConfigurationsText(configurationIds, version)
}
