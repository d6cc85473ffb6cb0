/** A complete verification, as an integrating application and a wallet run it: four requests, every answer checked. */
import { type KeyObject, randomBytes } from 'node:crypto'
import { type JsonObject, memberOf, stringMemberOf } from '../src/codec/json.ts'
import { readJws } from '../src/codec/jws.ts'
import type { Binding } from '../src/credential/format.ts'
import type { JweParameters } from '../src/keys/jwe.ts'
import { thumbprint } from '../src/keys/jwk.ts'
import { isJwsSignedBy } from '../src/keys/signature.ts'
import type { Signer } from '../src/keys/signer.ts'
import { encryptMembers, hashEncryptionKey, readEncryption } from '../src/wallet/response-encryption.ts'
import { type Case, orderOf, pluginOf } from './cases.ts'
import { type Flow, must, type Step } from './flow.ts'
import { authorization, create, form, get, json, object } from './issuance-flow.ts'
import { BASE_URL } from './workplace.ts'

const RESPONSE = '/presentation/oid4vp/authorization-response/'
const ENCRYPTED_RESPONSE = '/presentation/oid4vp/encrypted-authorization-response/'

/** Returns the requests of the flow, each with the beginning of its path. */
export function verificationSteps(encrypted: boolean) {
  return [
    ['new-session', '/presentation/oid4vp/new-session'],
    ['request-object', '/presentation/oid4vp/authorization-request/'],
    ['response', encrypted ? ENCRYPTED_RESPONSE : RESPONSE],
    ['status', '/presentation/oid4vp/status/'],
  ] as const
}

export interface VerificationTarget {
  readonly queryId: string
  readonly card: Case
  /** Whether the response has to be encrypted. */
  readonly encrypted: boolean
  readonly verifierKey: KeyObject
  /** The floor reports the credential of another holder. */
  readonly reportsHolder: boolean
}

export interface HeldCard {
  readonly holder: Signer
  readonly credential: string
}

/** The members of the request object that the wallet needs. */
export interface RequestValues {
  readonly binding: Omit<Binding, 'transactionData'>
  readonly responseUri: string
  readonly state: string
  readonly encryption: JweParameters | undefined
}

export async function createQuery(port: number, { query }: Case): Promise<string> {
  return create(port, '/verification-query/create', { dcql_query: { credentials: [query] } })
}

/** Makes a credential as the issuer would issue it to the holder. */
export async function issueTo(holder: Signer, issuer: Signer, card: Case): Promise<HeldCard> {
  return { holder, credential: await pluginOf(card).issue(orderOf(card, holder.jwk), issuer, randomBytes) }
}

export function verificationFlow(target: VerificationTarget, heldCard: HeldCard): Flow {
  return async (step) => {
    const { session_id: id } = await object(step, 'new-session', {
      method: 'POST',
      path: '/presentation/oid4vp/new-session',
      headers: { ...authorization, ...json },
      body: JSON.stringify({ verification_query_id: target.queryId }),
    })
    must(typeof id === 'string', 'new-session', 'no session_id')
    const request = await fetchRequest(step, id, target)
    await step('response', {
      method: 'POST',
      path: new URL(request.responseUri).pathname,
      headers: form,
      body: await responseBody(request, target, heldCard),
    })
    const status = await object(step, 'status', { ...get(`/presentation/oid4vp/status/${id}`), headers: authorization })
    must(status.status === 'VERIFICATION_SUCCEEDED', 'status', JSON.stringify(status))
    if (!target.reportsHolder) return
    const { result } = status as { result: { credentials: { card: [{ holder_key_thumbprint: string }] } } }
    const reportedThumbprint = result.credentials.card[0].holder_key_thumbprint
    must(reportedThumbprint === thumbprint(heldCard.holder.jwk), 'status', 'of another holder')
  }
}

/** Reads a request object, which the caller has verified. */
export function readRequest(payload: JsonObject): RequestValues {
  const [nonce, audience, state, responseUri] = ['nonce', 'client_id', 'state', 'response_uri'].map((name) =>
    stringMemberOf(payload, name),
  )
  must(nonce !== undefined && audience !== undefined, 'request-object', 'no nonce, or no client_id')
  must(state !== undefined && responseUri !== undefined, 'request-object', 'no state, or no response_uri')
  const encryption = memberOf(payload, 'response_mode') === 'direct_post.jwt' ? readEncryption(payload) : undefined
  const encryptionKeyThumbprint = encryption && hashEncryptionKey(encryption)
  const binding = { nonce, audience, recipient: { responseUri }, encryptionKeyThumbprint }
  return { binding, responseUri, state, encryption }
}

async function fetchRequest(step: Step, id: string, { verifierKey, encrypted }: VerificationTarget) {
  const { body } = await step('request-object', get(`/presentation/oid4vp/authorization-request/${id}`))
  const jws = readJws(body)
  must(isJwsSignedBy(jws, verifierKey), 'request-object', 'the signature is not by the verifier')
  const request = readRequest(jws.payload)
  const uri = `${BASE_URL.verifier}${encrypted ? ENCRYPTED_RESPONSE : RESPONSE}${id}`
  must(request.responseUri === uri, 'request-object', 'it is of another session')
  return request
}

async function responseBody(
  { binding, state, encryption }: RequestValues,
  { card }: VerificationTarget,
  heldCard: HeldCard,
) {
  const presentationBinding = { ...binding, transactionData: [], at: new Date() }
  const presentation = await pluginOf(card).present(
    heldCard.credential,
    [card.place],
    presentationBinding,
    heldCard.holder,
  )
  const token = { card: [presentation] }
  const members =
    encryption === undefined
      ? { vp_token: JSON.stringify(token), state }
      : await encryptMembers({ vp_token: token, state }, encryption)
  return new URLSearchParams(members).toString()
}
