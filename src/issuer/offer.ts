/** Starting an issuance session, and the credential offer that a wallet fetches. OpenID4VCI 1.0, Credential Offer. */
import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { selectClaims } from '../protocol/dcql-match.ts'
import { refuse } from '../protocol/error.ts'
import type { CredentialOffer } from '../protocol/oid4vci.ts'
import { findConfiguration, formatOfConfiguration } from './configurations.ts'
import type { IssuerContext } from './context.ts'
import { identifierOf } from './metadata.ts'
import { preAuthorizedCode } from './pre-authorized-code.ts'
import { type IssuanceSession, statusOf } from './session.ts'

export interface NewSession {
  readonly credential_dataset: JsonObject
  readonly credential_configurations: readonly string[]
  readonly expires_in?: number
}

const LIFETIME_SECONDS = 600

/**
 * Starts a session for the dataset. Refuses with `invalid_request`, naming the path, an unknown configuration and
 * a dataset that one of them cannot be filled with.
 */
export async function startSession(context: IssuerContext, request: NewSession) {
  const { credential_dataset: dataset, credential_configurations: configurationIds } = request
  for (const [index, id] of configurationIds.entries()) {
    const stored = await findConfiguration(context, id)
    if (stored === undefined || stored.removed) {
      return refuse(
        'invalid_request',
        `credential_configurations[${index}]: there is no credential configuration ${id}`,
      )
    }
    formatOfConfiguration(stored.configuration).checkDataset(dataset, stored.configuration)
    refuseUnlessComplete(dataset, stored.configuration)
  }
  const sessionId = toBase64url(context.random(24))
  const createdAt = context.now().getTime()
  const expiresAt = createdAt + (request.expires_in ?? LIFETIME_SECONDS) * 1000
  const value: IssuanceSession = { configurationIds, dataset, createdAt, expiresAt, issued: [] }
  await context.store.commit([{ insert: 'issuance_session', id: sessionId, value }])
  const offerUri = `${context.config.baseUrl}/issuance/oid4vci/credential-offer/${sessionId}`
  return {
    session_id: sessionId,
    credential_offer_uri: `haip-vci://?credential_offer_uri=${encodeURIComponent(offerUri)}`,
  }
}

/** The offer of a session. Refuses with `not_found`, or `gone` when it has expired or been used. */
export async function getOffer(context: IssuerContext, sessionId: string): Promise<CredentialOffer> {
  const session = await findSession(context, sessionId)
  if (session.token !== undefined) refuse('gone', 'this credential offer has been used')
  if (context.now().getTime() >= session.expiresAt) refuse('gone', 'this credential offer has expired')
  return {
    credential_issuer: identifierOf(context, context.config.issuer.identifier === 'session' ? sessionId : undefined),
    credential_configuration_ids: [...session.configurationIds],
    grants: {
      'urn:ietf:params:oauth:grant-type:pre-authorized_code': {
        'pre-authorized_code': preAuthorizedCode(context.secrets.code, sessionId),
      },
    },
  }
}

/** What the integrating application sees of a session. Refuses with `not_found`. */
export async function getStatus(context: IssuerContext, sessionId: string) {
  const session = await findSession(context, sessionId)
  return {
    session_id: sessionId,
    status: statusOf(session, context.now()),
    created_at: Math.floor(session.createdAt / 1000),
    expires_at: Math.floor(session.expiresAt / 1000),
    credential_configurations: session.configurationIds,
    credentials: session.issued.map(({ configurationId, issuedAt }) => ({
      credential_configuration_id: configurationId,
      issued_at: Math.floor(issuedAt / 1000),
      // Nothing that this release issues can be revoked or suspended.
      credential_status: 'VALID',
    })),
  }
}

export async function findSession({ store }: IssuerContext, sessionId: string): Promise<IssuanceSession> {
  const row = await store.get('issuance_session', sessionId)
  return row?.value ?? refuse('not_found', 'there is no such session')
}

function refuseUnlessComplete(dataset: JsonObject, configuration: JsonObject): void {
  const { credential_metadata: metadata } = configuration as { credential_metadata?: { claims?: Claim[] } }
  for (const { path, mandatory } of metadata?.claims ?? []) {
    if (mandatory === true && 'problem' in selectClaims(dataset, path)) {
      refuse(
        'invalid_request',
        `credential_dataset.${path.join('.')}: this claim is mandatory in a credential configuration`,
      )
    }
  }
}

interface Claim {
  readonly path: readonly (string | number | null)[]
  readonly mandatory?: boolean
}
