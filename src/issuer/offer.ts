/** The credential offer. OpenID4VCI 1.0, Credential Offer. */
import { refuse } from '../protocol/error.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from '../protocol/grant-types.ts'
import type { CredentialOffer } from '../protocol/oid4vci.ts'
import { makeDerivedCode } from './access/derived-code.ts'
import { preAuthorizedCodeOf } from './access/pre-authorized-code.ts'
import { requireIssuanceSession } from './collections.ts'
import type { IssuerContext } from './context.ts'
import { credentialIssuerIdentifier, hasIdentifierPerSession } from './issuer-addresses.ts'
import { hasGrant, hasOffer, refuseUnlessUnused } from './session.ts'

/**
 * Returns the offer of a session. `isFetch` records that a wallet fetched it. Refuses with `not_found`, or with `gone`
 * if it was used or has expired.
 */
export async function getOffer(context: IssuerContext, sessionId: string, isFetch: boolean): Promise<CredentialOffer> {
  const session = await requireIssuanceSession(context.store, sessionId)
  if (!hasOffer(session)) refuse('not_found', 'this session has no credential offer: its wallet came by itself')
  refuseUnlessUnused(session, context.now(), 'gone')
  const code = preAuthorizedCodeOf(context, sessionId, session)
  if (code === undefined) return refuse('gone', 'the key of this service has changed; ask for a new credential offer')
  if (isFetch) context.progress.add(sessionId, { offerFetchedAt: context.now().getTime() })
  return {
    credential_issuer: credentialIssuerIdentifier(
      context.config,
      hasIdentifierPerSession(context.config) ? sessionId : undefined,
    ),
    credential_configuration_ids: [...session.configurationIds],
    grants: {
      ...(hasGrant(session, AUTHORIZATION_CODE_GRANT) && {
        [AUTHORIZATION_CODE_GRANT]: { issuer_state: makeDerivedCode(context.secrets.issuerState, sessionId) },
      }),
      ...(hasGrant(session, PRE_AUTHORIZED_GRANT) && {
        [PRE_AUTHORIZED_GRANT]: {
          'pre-authorized_code': code,
          ...(session.txCode && { tx_code: session.txCode.asked }),
        },
      }),
    },
  }
}
