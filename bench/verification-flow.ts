/** One complete verification, as an integrating application and a wallet take it: four requests, every answer checked. */
import { type KeyObject, randomBytes } from 'node:crypto'
import { own, ownString } from '../src/codec/json.ts'
import { readJws } from '../src/codec/jws.ts'
import { formatOf } from '../src/credential/formats.ts'
import { thumbprint } from '../src/keys/jwk.ts'
import { signedBy } from '../src/keys/signature.ts'
import type { Signer } from '../src/keys/signer.ts'
import { configuration, dataset } from '../test/support/wire.ts'
import { type Flow, must, type Step } from './flow.ts'
import { authorization, create, FORMAT, form, get, json, object } from './issuance-flow.ts'
import { BASE_URL } from './workplace.ts'

const query = {
  credentials: [
    {
      id: 'card',
      format: FORMAT,
      meta: { type_values: [['VerifiableCredential', 'StudentCard']] },
      claims: [{ path: ['credentialSubject', 'given_name'] }],
    },
  ],
}

/** Each request of the flow, and how its path begins. */
export const VERIFICATION_STEPS = [
  ['new-session', '/presentation/oid4vp/new-session'],
  ['request-object', '/presentation/oid4vp/authorization-request/'],
  ['response', '/presentation/oid4vp/authorization-response/'],
  ['status', '/presentation/oid4vp/status/'],
] as const

export interface VerificationTarget {
  readonly queryId: string
  readonly verifierKey: KeyObject
  /** The floor reports the credential of another holder. */
  readonly reportsHolder: boolean
}

export interface Held {
  readonly holder: Signer
  readonly credential: string
}

export async function createQuery(port: number): Promise<string> {
  return create(port, '/verification-query/create', { dcql_query: query })
}

/** A credential as the issuer would issue it to the holder. */
export async function issueTo(holder: Signer, issuer: Signer): Promise<Held> {
  const hour = 3_600_000
  const now = Math.floor(Date.now() / hour) * hour
  const order = {
    configuration,
    dataset,
    issuer: BASE_URL.issuer,
    holderKey: holder.jwk,
    issuedAt: new Date(now),
    expiresAt: new Date(now + 365 * 24 * hour),
  }
  return { holder, credential: await w3c().issue(order, issuer, randomBytes) }
}

export function verificationFlow(target: VerificationTarget, { holder, credential }: Held): Flow {
  return async (step) => {
    const { session_id: id } = await object(step, 'new-session', {
      method: 'POST',
      path: '/presentation/oid4vp/new-session',
      headers: { ...authorization, ...json },
      body: JSON.stringify({ verification_query_id: target.queryId }),
    })
    must(typeof id === 'string', 'new-session', 'no session_id')
    const binding = await requestedBinding(step, id, target)
    const presentation = await w3c().present(
      credential,
      [['credentialSubject', 'given_name']],
      { ...binding, responseUri: '', encryptionKeyThumbprint: undefined, transactionData: [], at: new Date() },
      holder,
    )
    await step('response', {
      method: 'POST',
      path: `/presentation/oid4vp/authorization-response/${id}`,
      headers: form,
      body: new URLSearchParams({
        vp_token: JSON.stringify({ card: [presentation] }),
        state: binding.state,
      }).toString(),
    })
    const status = await object(step, 'status', { ...get(`/presentation/oid4vp/status/${id}`), headers: authorization })
    must(status.status === 'VERIFICATION_SUCCEEDED', 'status', JSON.stringify(status))
    if (!target.reportsHolder) return
    const { result } = status as { result: { credentials: { card: [{ holder_key_thumbprint: string }] } } }
    must(result.credentials.card[0].holder_key_thumbprint === thumbprint(holder.jwk), 'status', 'of another holder')
  }
}

async function requestedBinding(step: Step, id: string, { verifierKey }: VerificationTarget) {
  const { body } = await step('request-object', get(`/presentation/oid4vp/authorization-request/${id}`))
  const jws = readJws(body)
  must(signedBy(jws, verifierKey), 'request-object', 'the signature is not by the verifier')
  const uri = `${BASE_URL.verifier}/presentation/oid4vp/authorization-response/${id}`
  must(own(jws.payload, 'response_uri') === uri, 'request-object', 'it is of another session')
  const [nonce, audience, state] = ['nonce', 'client_id', 'state'].map((name) => ownString(jws.payload, name))
  must(nonce !== undefined && audience !== undefined && state !== undefined, 'request-object', 'something is missing')
  return { nonce, audience, state }
}

function w3c() {
  const format = formatOf(FORMAT)
  if (format === undefined) throw new Error(`there is no format ${FORMAT}`)
  return format
}
