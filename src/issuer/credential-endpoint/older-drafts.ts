/**
 * Support for wallets of OpenID4VCI drafts 13 to 15. Converts their credential requests to the form of the final
 * specification, and the responses back, so that other modules need only the final form. `configuration-metadata.ts`
 * makes the metadata of older wallets. Draft 13 is supported only if it is configured.
 */
import { isObject, type Json, type JsonObject, memberOf } from '../../codec/json.ts'
import type { Configuration } from '../../credential/format.ts'
import { typeMembers } from '../../credential/formats.ts'
import { jweAlgorithms, jweEncryptions } from '../../keys/jwe.ts'
import { type ErrorCode, ProtocolError, refuse } from '../../protocol/error.ts'
import type {
  CredentialRequest,
  CredentialResponse,
  DeferredCredentialRequest,
  IssuerMetadata,
} from '../../protocol/oid4vci.ts'
import { makeNonceMembers, type NonceContext } from '../access/c-nonce.ts'
import type { OpenSession } from '../access/open-session.ts'
import type { CredentialResponseForm } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import {
  answerCredentialRequest,
  type ReceivedRequest,
  readRequest,
  requireConfiguration,
} from './credential-request.ts'
import { answerDeferredRequest, type DeferredAnswer } from './deferred.ts'
import { readResponseEncryption } from './encryption.ts'

/** The path of the deferred credential endpoint for wallets of drafts up to 15. */
export const DRAFT15_DEFERRED_PATH = '/issuance/oid4vci/draft15/deferred-credential'

/** The part of the context that the conversion needs. */
type DraftContext = NonceContext & Pick<IssuerContext, 'loadConfiguration'>

/**
 * Reads the body of a credential request or a deferred one that is not encrypted and has
 * `credential_response_encryption`, as drafts up to 15 have it. Refuses like {@link readRequest} the member in its
 * final form, which may only stand in an encrypted request.
 */
export async function readDraft15Request<T extends CredentialRequest | DeferredCredentialRequest>(
  context: IssuerContext,
  body: T,
): Promise<ReceivedRequest<T>> {
  const { credential_response_encryption: encryption, ...otherMembers } = body
  if (context.config.credentialEncryption === 'off' || !isDraft15Encryption(encryption))
    return readRequest(context, body)
  const { request } = await readRequest(context, otherMembers as T)
  return { request, responseForm: { encryption: readResponseEncryption(toFinalEncryption(encryption)) } }
}

/**
 * Answers a credential request of an older draft in the form of that draft. Refuses like {@link
 * answerCredentialRequest}, with the errors of draft 13 for a wallet of that draft. Refuses with
 * `invalid_credential_request`, `invalid_proof` or `unknown_credential_configuration` a request that cannot be
 * converted.
 */
export async function answerOlderDraft(
  context: IssuerContext,
  openSession: OpenSession,
  received: ReceivedRequest<CredentialRequest>,
): Promise<CredentialResponse> {
  const { request } = received
  const isDraft13 = context.config.draft13 && mayBeDraft13(request)
  const singleCredential = isDraft13 || asksByFormat(request) ? { hasSingleCredential: true as const } : {}
  const responseForm = { ...received.responseForm, ...singleCredential }
  try {
    const finalRequest = { request: await toFinalRequest(context, openSession, request), responseForm }
    const response = toResponseForm(await answerCredentialRequest(context, openSession, finalRequest), responseForm)
    return isDraft13 ? { ...response, ...makeNonceMembers(context, openSession.sessionId) } : response
  } catch (error) {
    if (!isDraft13 || !(error instanceof ProtocolError)) throw error
    return refuseInDraft13(context, openSession.sessionId, error)
  }
}

/** Converts a response to its form: up to draft 14 it also has the first credential in `credential`. */
export function toResponseForm(
  response: CredentialResponse,
  { hasSingleCredential }: CredentialResponseForm,
): CredentialResponse {
  const [first] = response.credentials ?? []
  return hasSingleCredential === undefined || first === undefined
    ? response
    : { ...response, credential: first.credential }
}

/**
 * Answers a deferred credential request like {@link answerDeferredRequest}, but refuses with `issuance_pending` while
 * the application has not decided. Draft 15, Deferred Credential Error Response.
 */
export async function answerDraft15DeferredRequest(
  context: IssuerContext,
  openSession: OpenSession,
  request: DeferredCredentialRequest,
): Promise<DeferredAnswer> {
  const answer = await answerDeferredRequest(context, openSession, request)
  const { transaction_id: transactionId, interval = 0 } = answer.response
  if (transactionId === undefined) return answer
  const description = 'the credential is not there yet; ask again later'
  return refuse('issuance_pending', description, { members: { interval } })
}

/**
 * Makes the encryption members of the metadata for drafts up to 15, whose requests are not encrypted; empty if requests
 * must be encrypted, or never are. Draft 15, Credential Issuer Metadata Parameters.
 */
export function draft15EncryptionMetadata({
  config,
}: Pick<IssuerContext, 'config'>): Pick<IssuerMetadata, 'credential_response_encryption'> {
  if (config.credentialEncryption !== 'optional') return {}
  const supportedMembers = { enc_values_supported: [...jweEncryptions], encryption_required: false }
  return { credential_response_encryption: { alg_values_supported: [...jweAlgorithms], ...supportedMembers } }
}

/** Tests whether `credential_response_encryption` has the form of drafts up to 15, with `alg` outside of the JWK. */
function isDraft15Encryption(member: unknown): member is JsonObject & { readonly alg: Json } {
  return isObject(member) && memberOf(member, 'alg') !== undefined
}

/** Converts `credential_response_encryption` of drafts up to 15 to the final form. */
function toFinalEncryption(member: JsonObject & { readonly alg: Json }): JsonObject {
  const { alg } = member
  const jwk = memberOf(member, 'jwk')
  if (!jweAlgorithms.some((each) => each === alg)) {
    const names = jweAlgorithms.join(' or ')
    refuse('invalid_encryption_parameters', `credential_response_encryption.alg must be ${names}`)
  }
  // Keeps a different `alg` of the JWK, which the reader then refuses.
  return isObject(jwk) ? { ...member, jwk: { alg, ...jwk } } : member
}

/** Tests whether a request may be of draft 13, which has neither `proofs` nor `credential_configuration_id`. */
function mayBeDraft13(request: CredentialRequest): boolean {
  return request.proofs === undefined && request.credential_configuration_id === undefined
}

/**
 * Tests whether a request names the format and type of a credential instead of its configuration, as in drafts up to
 * 14.
 */
function asksByFormat({
  credential_identifier: identifier,
  credential_configuration_id: id,
  format,
}: CredentialRequest): boolean {
  return identifier === undefined && id === undefined && format !== undefined
}

async function toFinalRequest(
  context: DraftContext,
  openSession: OpenSession,
  request: CredentialRequest,
): Promise<CredentialRequest> {
  const id = asksByFormat(request) ? await requireConfigurationOfFormat(context, openSession, request) : undefined
  const { proof, ...otherMembers } = request
  return {
    ...otherMembers,
    ...(id !== undefined && { credential_configuration_id: id }),
    ...(proof !== undefined && { proofs: translateProof(proof, request.proofs) }),
  }
}

/** Converts `proof` of drafts up to 15 to `proofs`; undefined if there is no proof. */
function translateProof(proof: unknown, proofs: unknown): JsonObject | undefined {
  if (proofs !== undefined) refuse('invalid_credential_request', 'send either proof or proofs, not both')
  // A proof that is not an object counts as missing.
  if (!isObject(proof)) return undefined
  if (memberOf(proof, 'proof_type') !== 'jwt') refuse('invalid_proof', 'proof.proof_type must be jwt')
  const jwt = memberOf(proof, 'jwt')
  return typeof jwt === 'string' ? { jwt: [jwt] } : refuse('invalid_proof', 'proof.jwt must be the key proof')
}

/**
 * Returns the configuration of the session that has the format and type of the request. Refuses if there is not exactly
 * one.
 */
async function requireConfigurationOfFormat(
  context: DraftContext,
  openSession: OpenSession,
  request: CredentialRequest,
): Promise<string> {
  if (!typeMembers.some((name) => request[name] !== undefined)) {
    const rule = `a format, as drafts up to 14 have it, needs ${typeMembers.slice(0, -1).join(', ')} or ${typeMembers.at(-1)}`
    refuse('invalid_credential_request', `send credential_configuration_id; ${rule}`)
  }
  const ids = openSession.authorizedIds ?? openSession.row.value.configurationIds
  const configurations = await Promise.all(ids.map((id) => requireConfiguration(context, id)))
  const [first, ...others] = configurations.filter((configuration) => isOfType(configuration, request))
  if (others.length > 0) {
    const problem = 'several offered credentials are of that kind'
    refuse('invalid_credential_request', `${problem}; send credential_configuration_id`)
  }
  if (first !== undefined) return first.id
  return refuse('unknown_credential_configuration', 'no offered credential is of that format and kind')
}

function isOfType({ format, formatId, posted }: Configuration, request: CredentialRequest): boolean {
  // Until draft 14, `vc+sd-jwt` meant SD-JWT VC. The other format with this name has no `vct`.
  const isSameFormat =
    request.format === formatId || (format.olderId !== undefined && request.format === format.olderId)
  return isSameFormat && typeMembers.every((name) => isSameType(posted[name], request[name]))
}

function isSameType(declaredType: unknown, requestedType: unknown): boolean {
  if (!isObject(declaredType) || !isObject(requestedType)) return declaredType === requestedType
  const context = memberOf(requestedType, '@context')
  return (
    haveSameElements(memberOf(declaredType, 'type'), memberOf(requestedType, 'type')) &&
    (context === undefined || haveSameElements(memberOf(declaredType, '@context'), context))
  )
}

/** Tests whether both lists have the same elements, in any order. */
function haveSameElements(one: Json | undefined, other: Json | undefined): boolean {
  if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false
  const textsOf = (list: readonly Json[]): ReadonlySet<string> => new Set(list.map((each) => JSON.stringify(each)))
  const [a, b] = [textsOf(one), textsOf(other)]
  return a.size === b.size && [...a].every((text) => b.has(text))
}

const DRAFT_13_CODES: Partial<Record<ErrorCode, ErrorCode>> = {
  invalid_nonce: 'invalid_proof',
  unknown_credential_configuration: 'unsupported_credential_type',
}

/**
 * Refuses a credential request with the error of draft 13, and with a new nonce if the nonce was missing or invalid.
 */
function refuseInDraft13(context: DraftContext, sessionId: string, error: ProtocolError): never {
  const code = DRAFT_13_CODES[error.code] ?? error.code
  const { message, cause, challenge, retryAfterSeconds } = error
  const members = { ...error.members, ...(code === 'invalid_proof' && makeNonceMembers(context, sessionId)) }
  return refuse(code, message, { cause, members, challenge, retryAfterSeconds })
}
