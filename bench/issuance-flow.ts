/** A complete issuance, as an integrating application and a wallet run it: seven requests, every answer checked. */
import type { KeyObject } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { memberOf } from '../src/codec/json.ts'
import { readJws, writeJws } from '../src/codec/jws.ts'
import { toDidJwk } from '../src/keys/did.ts'
import { thumbprint } from '../src/keys/jwk.ts'
import { isJwsSignedBy } from '../src/keys/signature.ts'
import type { Signer } from '../src/keys/signer.ts'
import { type Case, orderOf, pluginOf } from './cases.ts'
import { openConnection, type Request } from './connection.ts'
import { type Flow, must, type Step } from './flow.ts'
import { API_KEY, BASE_URL } from './workplace.ts'

export const authorization = { authorization: `Bearer ${API_KEY}` }
export const json = { 'content-type': 'application/json' }
export const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** The requests of the flow, each with the beginning of its path. */
export const ISSUANCE_STEPS = [
  ['new-session', '/issuance/oid4vci/new-session'],
  ['credential-offer', '/issuance/oid4vci/credential-offer/'],
  ['issuer-metadata', '/.well-known/openid-credential-issuer/'],
  ['server-metadata', '/.well-known/oauth-authorization-server/'],
  ['token', '/auth/token-endpoint/'],
  ['nonce', '/issuance/oid4vci/nonce/'],
  ['credential', '/issuance/oid4vci/credential-request'],
] as const

export interface IssuanceTarget {
  readonly configurationId: string
  readonly issued: Case
  readonly issuerKey: KeyObject
  /** The floor answers with the credential of another holder. */
  readonly bindsHolder: boolean
}

/** Declares the configuration that the flows issue. */
export async function declareConfiguration(port: number, { configuration }: Case): Promise<string> {
  return create(port, '/credential-configuration/create', configuration)
}

export async function create(port: number, path: string, value: object): Promise<string> {
  const connection = await openConnection(port)
  const body = JSON.stringify(value)
  const answer = await connection.send({ method: 'POST', path, headers: { ...authorization, ...json }, body })
  connection.close()
  must(answer.status === 201, path, answer.body)
  return answer.body
}

export function issuanceFlow(target: IssuanceTarget, holder: Signer): Flow {
  return async (step) => {
    const answer = await object(step, 'credential', await requestCredential(step, target, holder))
    checkCredential((answer.credentials as [{ credential: string }])[0].credential, target, holder)
  }
}

/** Takes every step before the credential request, and that request. */
export async function requestCredential(step: Step, target: IssuanceTarget, holder: Signer): Promise<Request> {
  const { session_id: id } = await object(step, 'new-session', {
    method: 'POST',
    path: '/issuance/oid4vci/new-session',
    headers: { ...authorization, ...json },
    body: JSON.stringify({
      credential_dataset: target.issued.dataset,
      credential_configurations: [target.configurationId],
    }),
  })
  must(typeof id === 'string', 'new-session', 'no session_id')
  const code = await offeredCode(step, id, target)
  const metadata = await object(step, 'issuer-metadata', get(`/.well-known/openid-credential-issuer/${id}`))
  must(metadata.credential_issuer === `${BASE_URL.issuer}/${id}`, 'issuer-metadata', 'it is for another issuer')
  const server = await object(step, 'server-metadata', get(`/.well-known/oauth-authorization-server/${id}`))
  must(server.issuer === `${BASE_URL.issuer}/${id}`, 'server-metadata', 'it is for another issuer')
  const token = await accessToken(step, { id, code }, target)
  const { c_nonce: nonce } = await object(step, 'nonce', { method: 'POST', path: `/issuance/oid4vci/nonce/${id}` })
  must(typeof nonce === 'string', 'nonce', 'no c_nonce')
  return {
    method: 'POST',
    path: '/issuance/oid4vci/credential-request',
    headers: { ...json, authorization: `Bearer ${token}` },
    body: JSON.stringify({
      credential_configuration_id: target.configurationId,
      proof: { proof_type: 'jwt', jwt: await keyProof(holder, nonce, id) },
    }),
  }
}

async function offeredCode(step: Step, id: string, target: IssuanceTarget): Promise<string> {
  const offer = await object(step, 'credential-offer', get(`/issuance/oid4vci/credential-offer/${id}`))
  must(offer.credential_issuer === `${BASE_URL.issuer}/${id}`, 'credential-offer', 'it is of another issuer')
  must(
    isDeepStrictEqual(offer.credential_configuration_ids, [target.configurationId]),
    'credential-offer',
    'it offers something else',
  )
  const grants = offer.grants as Record<string, Record<string, string>>
  const code = grants['urn:ietf:params:oauth:grant-type:pre-authorized_code']?.['pre-authorized_code']
  must(code !== undefined, 'credential-offer', 'no pre-authorized_code')
  return code
}

async function accessToken(
  step: Step,
  { id, code }: { readonly id: string; readonly code: string },
  { issuerKey }: IssuanceTarget,
): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:pre-authorized_code',
    'pre-authorized_code': code,
  }).toString()
  const answer = await object(step, 'token', {
    method: 'POST',
    path: `/auth/token-endpoint/${id}`,
    headers: form,
    body,
  })
  const token = answer.access_token
  must(typeof token === 'string', 'token', 'no access_token')
  const jws = readJws(token)
  must(isJwsSignedBy(jws, issuerKey), 'token', 'the signature is not by the issuer')
  must(memberOf(jws.payload, 'sub') === id, 'token', 'it is for another session')
  return token
}

function keyProof(holder: Signer, nonce: string, id: string): Promise<string> {
  return writeJws(
    { typ: 'openid4vci-proof+jwt', alg: 'ES256', kid: `${toDidJwk(holder.jwk)}#0` },
    { nonce, aud: `${BASE_URL.issuer}/${id}`, iat: Math.floor(Date.now() / 1000) },
    (data) => holder.sign(data),
  )
}

function checkCredential(credential: string, target: IssuanceTarget, holder: Signer): void {
  const { issued, issuerKey, bindsHolder } = target
  const heldCredential = pluginOf(issued).readHeld(credential)
  must(heldCredential.issuer.signatureProblem(issuerKey) === undefined, 'credential', 'it is not signed by the issuer')
  // The service chooses which entry of a status list the credential has.
  const { idx: index, uri } = (heldCredential.status?.status_list ?? {}) as { idx?: number; uri?: string }
  const status = index === undefined || uri === undefined ? {} : { status: { index, uri } }
  const order = { ...orderOf(issued, holder.jwk), ...status }
  must(pluginOf(issued).matchesOrder(order, credential), 'credential', 'other claims')
  if (!bindsHolder) return
  const isBound =
    'thumbprint' in heldCredential.boundKey && heldCredential.boundKey.thumbprint === thumbprint(holder.jwk)
  must(isBound, 'credential', 'bound to another key')
}

export function get(path: string) {
  return { method: 'GET', path } as const
}

export async function object(step: Step, ...[name, request]: Parameters<Step>): Promise<Record<string, unknown>> {
  return JSON.parse((await step(name, request)).body) as Record<string, unknown>
}
