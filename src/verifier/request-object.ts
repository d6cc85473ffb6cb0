/** The signed request object that a wallet fetches. OpenID4VP 1.0, Authorization Request; RFC 9101. */
import { serialQueueByKey } from '../async/concurrency.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { epochSeconds } from '../codec/time.ts'
import { makeRegistrationEntry } from '../config/registration-certificate.ts'
import { presentationFormats } from '../credential/formats.ts'
import { refuse } from '../protocol/error.ts'
import { STATIC_AUDIENCE } from '../protocol/oid4vp.ts'
import { requireVerificationSession, type VerifierContext } from './context.ts'
import { responseEncryptionMetadata } from './response-encryption.ts'
import { modeOf, refuseUnlessOpen, requireQueryOf, responseUriOf, type VerificationSession } from './session.ts'
import { encryptForWallet, type WalletRequest } from './wallet-request.ts'

const FORMATS = presentationFormats()

/**
 * Returns the session for a request of its request object. Refuses with `not_found`, or with `gone` if it has ended.
 */
export async function requireSessionForRequestObject(
  { store, now }: Pick<VerifierContext, 'store' | 'now'>,
  sessionId: string,
): Promise<VerificationSession> {
  const { value: session } = await requireVerificationSession(store, sessionId)
  refuseUnlessOpen(session, now(), 'gone')
  return session
}

/** The maximum number of request objects of a session that are signed or wait. A wallet fetches one. */
const MAX_QUEUED = 16

/**
 * Creates the queue of each session for its request objects, so that whoever has the link of one session takes the time
 * of a slow key from no other. Refuses with `too_many_requests` if too many wait.
 */
export function createRequestObjectQueue(): ReturnType<typeof serialQueueByKey> {
  return serialQueueByKey(MAX_QUEUED, () =>
    refuse('too_many_requests', 'too many requests for this request object wait; send one after another', {
      retryAfterSeconds: 1,
    }),
  )
}

/**
 * Returns the signed request object of a session. The payload is the same for each call, except for the wallet's nonce.
 * Refuses with `gone` if the session has expired, or its certificate has.
 */
export async function getRequestObject(
  context: VerifierContext,
  sessionId: string,
  session: VerificationSession,
  wallet: WalletRequest = {},
): Promise<string> {
  const signer = context.findSigner(session.clientId)
  if (signer === undefined) return refuse('gone', 'the certificate of this verifier has changed; start a new session')
  const [leaf = ''] = signer.x5c
  if (context.parseCertificate(Buffer.from(leaf, 'base64')).notAfter < context.now())
    refuse('gone', 'the certificate of this verifier has ended; start a new session when it is renewed')
  const query = await requireQueryOf(context, session)
  const header = { typ: 'oauth-authz-req+jwt', alg: signer.alg, x5c: [...signer.x5c] }
  const payload = {
    ...payloadOf(context, sessionId, session, query as unknown as Json),
    ...(wallet.nonce === undefined ? {} : { wallet_nonce: wallet.nonce }),
  }
  const requestObject = await writeJws(header, payload, (data) => signer.sign(data))
  return encryptForWallet(wallet, requestObject)
}

function payloadOf(
  { config }: VerifierContext,
  sessionId: string,
  session: VerificationSession,
  dcqlQuery: Json,
): JsonObject {
  const { clientMetadata, registrationCertificate: certificate } = config
  const { transactionData, encryptionKey } = session
  const encryption = encryptionKey === undefined ? {} : responseEncryptionMetadata(encryptionKey)
  return {
    response_type: 'vp_token',
    response_mode: modeOf(session),
    response_uri: responseUriOf(config, sessionId, session),
    client_id: session.clientId,
    nonce: session.nonce,
    state: session.state,
    aud: STATIC_AUDIENCE,
    iat: epochSeconds(session.createdAt),
    exp: epochSeconds(session.expiresAt),
    dcql_query: dcqlQuery,
    ...(transactionData === undefined ? {} : { transaction_data: [...transactionData] }),
    ...(certificate === undefined ? {} : { verifier_info: [makeRegistrationEntry(certificate)] }),
    client_metadata: { ...clientMetadata, ...encryption, vp_formats_supported: FORMATS },
  }
}
