/** The credential request: parse, decide, issue, answer. OpenID4VCI 1.0, Credential Endpoint. */
import { refuse } from '../../protocol/error.ts'
import type { CredentialRequest, CredentialResponse } from '../../protocol/oid4vci.ts'
import type { IssuerContext } from '../context.ts'
import type { OpenSession } from '../token-endpoint/access-token.ts'
import { issueOrDefer } from './deferred.ts'
import { draft13Nonce, inDraft13, withSingle } from './draft13.ts'
import type { ReadRequest } from './encryption.ts'
import { nonceExpiry } from './nonce.ts'
import { provedKeys } from './proofs.ts'
import { asksByFormat, requestedConfiguration } from './requested-configuration.ts'

/**
 * Issues a credential for each key that is proved, or says that they come later. Refuses with the codes of OpenID4VCI 1.0, Credential Error Response; with
 * those of draft 13 where the request is of a wallet that old and the configuration lets it be served.
 */
export async function requestCredential(
  context: IssuerContext,
  open: OpenSession,
  read: ReadRequest<CredentialRequest>,
): Promise<CredentialResponse> {
  const { request } = read
  if (!context.config.draft13 || !mayBeDraft13(request)) {
    const response = await issueRequested(context, open, read)
    return asksByFormat(request) ? withSingle(response) : response
  }
  try {
    const response = await issueRequested(context, open, read)
    return { ...withSingle(response), ...draft13Nonce(context, open.sessionId) }
  } catch (error) {
    throw inDraft13(context, open.sessionId, error)
  }
}

/** Its wallets ask by format, or by an identifier from authorization details; and have one proof. */
function mayBeDraft13(request: CredentialRequest): boolean {
  return request.proofs === undefined && request.credential_configuration_id === undefined
}

async function issueRequested(
  context: IssuerContext,
  open: OpenSession,
  { request, encryption }: ReadRequest<CredentialRequest>,
): Promise<CredentialResponse> {
  const { sessionId, session } = open
  const requested = await requestedConfiguration(context, session, request)
  const now = context.now()
  const { holderKeys, nonce } = await provedKeys(context, request, { ...open, ...requested, now })
  // After everything else, so that a proof that is wrong in any other way does not use up the nonce.
  const spentUntil = nonceExpiry(context.secrets.nonce, sessionId, nonce, now)
  if (spentUntil === undefined) return refuseNonce()
  // The batch below decides; this only saves a replay the work of issuing.
  if (await context.store.get('spent_nonce', nonce)) refuseNonce()
  const spend = { insert: 'spent_nonce', id: nonce, value: {}, dueAt: spentUntil } as const
  const wantsSingle = asksByFormat(request) || (context.config.draft13 && mayBeDraft13(request))
  const granted = {
    ...requested,
    holderKeys,
    now,
    ...(wantsSingle && { wantsSingle }),
    ...(encryption && { encryption }),
  }
  return issueOrDefer(context, open, granted, { spend, refuseSpent: refuseNonce })
}

function refuseNonce(): never {
  return refuse('invalid_nonce', 'the c_nonce is unknown, used or expired; fetch a new one from the nonce endpoint')
}
