/**
 * Wallets of drafts 13 to 15 of OpenID4VCI, at the edge: their requests are put into the form of the final
 * specification, and the answers into theirs, so that nothing behind the credential endpoint knows of drafts; the
 * metadata of older wallets is made by `configuration-metadata.ts`. Draft 13 is served only where the configuration
 * says so.
 */
import { isObject, type Json, type JsonObject, own } from '../../codec/json.ts'
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
import type { NonceContext } from '../access/c-nonce.ts'
import { makeDraft13NonceMembers } from '../access/draft13-nonce.ts'
import type { OpenSession } from '../access/open-session.ts'
import type { CredentialResponseForm } from '../collections.ts'
import type { IssuerConfig } from '../config.ts'
import type { IssuerContext } from '../context.ts'
import { type FinalRequest, findConfiguration } from './credential-request.ts'
import { type DeferredAnswer, fetchDeferredCredential } from './deferred.ts'
import { type ReceivedRequest, readRequest, readResponseEncryption } from './encryption.ts'

/** The members of the context that the translation of a request and of its answer needs. */
type DraftContext = NonceContext & Pick<IssuerContext, 'loadConfiguration'>

/**
 * Reads the body of a credential request or a deferred one as {@link readRequest} does, and also that of a wallet of
 * drafts up to 15, which asks for an encrypted response in a request that nothing encrypts.
 */
export async function readAnyDraft<T extends CredentialRequest | DeferredCredentialRequest>(
  context: IssuerContext,
  body: T | string | undefined | null,
): Promise<ReceivedRequest<T>> {
  if (typeof body !== 'object' || !isDraft15Encryption(body?.credential_response_encryption)) {
    return readRequest(context, body)
  }
  const { credential_response_encryption: encryption, ...otherMembers } = body
  // The final form takes the member in an encrypted request alone, so that the reader gets the request without it.
  const { request } = await readRequest(context, otherMembers as T)
  return { request, form: { encryption: readResponseEncryption(toFinalEncryption(encryption)) } }
}

/**
 * Answers a credential request of any draft in the form of that draft, through `answer`, which knows the final form
 * alone. Refuses like `answer`, with the codes of draft 13 where the request is of a wallet that old; with
 * `invalid_credential_request`, `invalid_proof` or `unknown_credential_configuration` a request of a draft that cannot
 * be put into the final form.
 */
export async function answerAnyDraft(
  context: DraftContext & { readonly config: Pick<IssuerConfig, 'draft13'> },
  openSession: OpenSession,
  { request, form }: ReceivedRequest<CredentialRequest>,
  answer: (request: FinalRequest) => Promise<CredentialResponse>,
): Promise<CredentialResponse> {
  const isDraft13 = context.config.draft13 && mayBeDraft13(request)
  const responseForm = { ...form, ...((isDraft13 || asksByFormat(request)) && { hasSingleCredential: true as const }) }
  try {
    const finalRequest = await toFinalForm(context, openSession, request)
    const response = toResponseForm(await answer({ request: finalRequest, form: responseForm }), responseForm)
    return isDraft13 ? { ...response, ...makeDraft13NonceMembers(context, openSession.sessionId) } : response
  } catch (error) {
    if (!isDraft13 || !(error instanceof ProtocolError)) throw error
    return refuseInDraft13(context, openSession.sessionId, error)
  }
}

/** Returns the response as its form has it: up to draft 14, the first credential stands beside the list. */
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
 * Answers a deferred request as {@link fetchDeferredCredential} does, but refuses with `issuance_pending` while the
 * application has not decided. Draft 15, Deferred Credential Error Response.
 */
export async function fetchDraft15DeferredCredential(
  context: IssuerContext,
  openSession: OpenSession,
  request: DeferredCredentialRequest,
): Promise<DeferredAnswer> {
  const answer = await fetchDeferredCredential(context, openSession, request)
  const { transaction_id: transactionId, interval = 0 } = answer.response
  if (transactionId === undefined) return answer
  const description = 'the credential is not there yet; ask again later'
  return refuse('issuance_pending', description, { members: { interval } })
}

/**
 * Returns the metadata of encryption for wallets of drafts up to 15, which ask for encrypted responses in requests that
 * nothing encrypts; nothing where requests have to be encrypted. Draft 15, Credential Issuer Metadata Parameters.
 */
export function draft15EncryptionMetadata({
  config,
}: IssuerContext): Pick<IssuerMetadata, 'credential_response_encryption'> {
  if (config.encryptionRequired) return {}
  const supportedMembers = { enc_values_supported: [...jweEncryptions], encryption_required: false }
  return { credential_response_encryption: { alg_values_supported: [...jweAlgorithms], ...supportedMembers } }
}

/**
 * Tests whether `credential_response_encryption` is of drafts up to 15, which name the algorithm beside the key; the
 * final specification names it in the key alone.
 */
function isDraft15Encryption(member: unknown): member is JsonObject & { readonly alg: Json } {
  return isObject(member) && own(member, 'alg') !== undefined
}

/** Returns `credential_response_encryption` of drafts up to 15 in the final form. */
function toFinalEncryption(member: JsonObject & { readonly alg: Json }): JsonObject {
  const { alg } = member
  const jwk = own(member, 'jwk')
  if (!jweAlgorithms.some((each) => each === alg)) {
    const names = jweAlgorithms.join(' or ')
    refuse('invalid_encryption_parameters', `credential_response_encryption.alg must be ${names}`)
  }
  // A key that names another algorithm keeps it, and the reader refuses such a key.
  return isObject(jwk) ? { ...member, jwk: { alg, ...jwk } } : member
}

/**
 * Tests whether a request may be of draft 13, whose wallets ask by format, or by an identifier from authorization
 * details, and send one proof.
 */
function mayBeDraft13(request: CredentialRequest): boolean {
  return request.proofs === undefined && request.credential_configuration_id === undefined
}

/**
 * Tests whether a request names the format and type of the credential in the place of its configuration, as wallets of
 * drafts up to 14 may.
 */
function asksByFormat({
  credential_identifier: identifier,
  credential_configuration_id: id,
  format,
}: CredentialRequest): boolean {
  return identifier === undefined && id === undefined && format !== undefined
}

async function toFinalForm(
  context: DraftContext,
  openSession: OpenSession,
  request: CredentialRequest,
): Promise<CredentialRequest> {
  const id = asksByFormat(request) ? await findConfigurationOfFormat(context, openSession, request) : undefined
  const { proof, ...otherMembers } = request
  return {
    ...otherMembers,
    ...(id !== undefined && { credential_configuration_id: id }),
    ...(proof !== undefined && { proofs: translateProof(proof, request.proofs) }),
  }
}

/** Translates the one proof of a request of drafts up to 15 into `proofs`; undefined when there is none. */
function translateProof(proof: unknown, proofs: unknown): JsonObject | undefined {
  if (proofs !== undefined) refuse('invalid_credential_request', 'send either proof or proofs, not both')
  // A proof in no form at all is as good as none.
  if (!isObject(proof)) return undefined
  if (own(proof, 'proof_type') !== 'jwt') refuse('invalid_proof', 'proof.proof_type must be jwt')
  const jwt = own(proof, 'jwt')
  return typeof jwt === 'string' ? { jwt: [jwt] } : refuse('invalid_proof', 'proof.jwt must be the key proof')
}

/** Returns the one configuration of the session with the format and type of the request. */
async function findConfigurationOfFormat(
  context: DraftContext,
  openSession: OpenSession,
  request: CredentialRequest,
): Promise<string> {
  if (!typeMembers.some((name) => request[name] !== undefined)) {
    const rule = `a format, as drafts up to 14 have it, needs ${typeMembers.slice(0, -1).join(', ')} or ${typeMembers.at(-1)}`
    refuse('invalid_credential_request', `send credential_configuration_id; ${rule}`)
  }
  const ids = openSession.authorizedIds ?? openSession.row.value.configurationIds
  const configurations = await Promise.all(ids.map((id) => findConfiguration(context, id)))
  const [first, ...others] = configurations.filter(({ configuration }) => isOfType(configuration, request))
  if (others.length > 0) {
    const problem = 'several offered credentials are of that kind'
    refuse('invalid_credential_request', `${problem}; send credential_configuration_id`)
  }
  if (first !== undefined) return first.configurationId
  return refuse('unknown_credential_configuration', 'no offered credential is of that format and kind')
}

function isOfType({ format, formatId, posted }: Configuration, request: CredentialRequest): boolean {
  // SD-JWT VC had another name until draft 14; the format that it shares the name with has no vct.
  const isSameFormat =
    request.format === formatId || (format.olderId !== undefined && request.format === format.olderId)
  return isSameFormat && typeMembers.every((name) => isSameType(posted[name], request[name]))
}

function isSameType(declaredType: unknown, requestedType: unknown): boolean {
  if (!isObject(declaredType) || !isObject(requestedType)) return declaredType === requestedType
  const context = own(requestedType, '@context')
  return (
    haveSameElements(own(declaredType, 'type'), own(requestedType, 'type')) &&
    (context === undefined || haveSameElements(own(declaredType, '@context'), context))
  )
}

/** Tests whether both lists have the same elements, in whatever order. */
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

/** Refuses a credential request in the words of draft 13; with a nonce where one was missing or no good. */
function refuseInDraft13(context: DraftContext, sessionId: string, error: ProtocolError): never {
  const code = DRAFT_13_CODES[error.code] ?? error.code
  const { message, cause, challenge, retryAfterSeconds } = error
  const members = { ...error.members, ...(code === 'invalid_proof' && makeDraft13NonceMembers(context, sessionId)) }
  return refuse(code, message, { cause, members, challenge, retryAfterSeconds })
}
