/**
 * The signed request object that a wallet fetches, and what every request of a session has in common. OpenID4VP 1.0,
 * Authorization Request; RFC 9101.
 */
import { serialQueueByKey } from '../async/concurrency.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { epochSeconds } from '../codec/time.ts'
import { makeRegistrationEntry } from '../config/registration-certificate.ts'
import { presentationFormats } from '../credential/formats.ts'
import type { Signer } from '../keys/signer.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuse } from '../protocol/error.ts'
import { type ResponseMode, STATIC_AUDIENCE } from '../protocol/oid4vp.ts'
import { requireVerificationSession, type VerifierContext } from './context.ts'
import { responseEncryptionMetadata } from './response-encryption.ts'
import { modeOf, refuseUnlessOpen, requireSessionQuery, responseUriOf, type VerificationSession } from './session.ts'
import { encryptForWallet, type WalletRequest } from './wallet-request.ts'

const FORMATS = presentationFormats()

/**
 * Returns the session for a request of its request object. Refuses with `gone` if it has ended, and with `not_found` if
 * there is no such session, or it has no link.
 */
export async function requireSessionForRequestObject(
  { store, now }: Pick<VerifierContext, 'store' | 'now'>,
  sessionId: string,
): Promise<VerificationSession> {
  const { value: session } = await requireVerificationSession(store, sessionId)
  refuseUnlessOpen(session, now(), 'gone')
  if (modeOf(session) === 'dc_api.jwt')
    refuse('not_found', 'this session has no link; its request goes through the browser, by digital_credentials_uri')
  return session
}

/** The maximum number of requests of a session that are signed or wait. A wallet or a page fetches one. */
const MAX_QUEUED = 16

/** Runs the signing of a request in the queue of its session. */
export type RequestQueue = ReturnType<typeof serialQueueByKey>

/**
 * Creates the queue of each session for its signed requests, so that whoever has the link of one session takes the time
 * of a slow key from no other. Refuses with `too_many_requests` if too many wait.
 */
export function createRequestQueue(): RequestQueue {
  return serialQueueByKey(MAX_QUEUED, () =>
    refuse('too_many_requests', 'too many requests for this request object wait; send one after another', {
      retryAfterSeconds: 1,
    }),
  )
}

/**
 * Returns the signed request object of a session. The payload is the same for each call, except for the wallet's nonce.
 * Refuses like {@link requireSigner}.
 */
export async function getRequestObject(
  context: VerifierContext,
  sessionId: string,
  session: VerificationSession,
  wallet: WalletRequest = {},
): Promise<string> {
  const signer = requireSigner(context, session)
  const mode = modeOf(session)
  const query = await requireSessionQuery(context, session)
  const parameters = {
    ...makeRequestParameters(context, session, query, mode),
    response_uri: responseUriOf(context.config, sessionId, mode),
    state: session.state,
    ...(wallet.nonce === undefined ? {} : { wallet_nonce: wallet.nonce }),
  }
  return encryptForWallet(wallet, await signRequestObject(session, parameters, signer))
}

/** Signs a request of the session, with the members that only a signed one has. */
export function signRequestObject(
  session: VerificationSession,
  parameters: JsonObject,
  signer: Signer,
): Promise<string> {
  const header = { typ: 'oauth-authz-req+jwt', alg: signer.alg, x5c: [...signer.x5c] }
  const [iat, exp] = [epochSeconds(session.createdAt), epochSeconds(session.expiresAt)]
  const payload = { ...parameters, client_id: session.clientId, aud: STATIC_AUDIENCE, iat, exp }
  return writeJws(header, payload, (data) => signer.sign(data))
}

/** Returns the signer of a session. Refuses with `gone` if its certificate has ended, or is no longer there. */
export function requireSigner(context: VerifierContext, { clientId }: VerificationSession): Signer {
  const signer = context.findSigner(clientId)
  if (signer === undefined) return refuse('gone', 'the certificate of this verifier has changed; start a new session')
  const [leaf = ''] = signer.x5c
  if (context.parseCertificate(Buffer.from(leaf, 'base64')).notAfter < context.now())
    refuse('gone', 'the certificate of this verifier has ended; start a new session when it is renewed')
  return signer
}

/** Makes the parameters of a request of the session for a response mode, as they are in all its requests. */
export function makeRequestParameters(
  { config }: VerifierContext,
  { nonce, transactionData, encryptionKey }: VerificationSession,
  query: DcqlQuery,
  mode: ResponseMode,
): JsonObject {
  const { clientMetadata, registrationCertificate: certificate } = config
  const encryption =
    mode === 'direct_post' || encryptionKey === undefined ? {} : responseEncryptionMetadata(encryptionKey)
  return {
    response_type: 'vp_token',
    response_mode: mode,
    nonce,
    dcql_query: query as unknown as Json,
    ...(transactionData === undefined ? {} : { transaction_data: [...transactionData] }),
    ...(certificate === undefined ? {} : { verifier_info: [makeRegistrationEntry(certificate)] }),
    client_metadata: { ...clientMetadata, ...encryption, vp_formats_supported: FORMATS },
  }
}
