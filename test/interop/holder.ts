/** The things that every party needs that holds a credential: a key, the request it answers, and the way to answer. */
import assert from 'node:assert/strict'
import { createHash, type KeyObject } from 'node:crypto'
import { CompactEncrypt, calculateJwkThumbprint, importJWK, type JWK } from 'jose'
import { writeJws } from '../../src/codec/jws.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { makeKey, type Services } from '../support/services.ts'
import { postForm, type RequestObject } from '../support/wire.ts'
import { NAMESPACE, sampleOf } from './samples.ts'

export interface Holder {
  readonly key: KeyObject
  readonly signer: Signer
}

export async function makeHolder(): Promise<Holder> {
  const key = await makeKey()
  return { key, signer: createSigner(key, []) }
}

export type WalletRequest = RequestObject & {
  readonly response_mode?: string
  readonly client_metadata?: { readonly jwks?: { readonly keys: readonly JWK[] } }
}

/**
 * Returns the key that the verifier wants its answer encrypted for, if it does. OpenID4VP 1.0, Response Mode
 * "direct_post.jwt"; appendix A, Request.
 */
function encryptionKeyOf({ response_mode: mode, client_metadata: metadata }: WalletRequest): JWK | undefined {
  if (!mode?.endsWith('.jwt')) return undefined
  return metadata?.jwks?.keys.find(({ use }) => use === 'enc') ?? assert.fail('no key to encrypt for')
}

export async function encryptFor(jwk: JWK, payload: string): Promise<string> {
  return new CompactEncrypt(Buffer.from(payload))
    .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A128GCM', ...(jwk.kid === undefined ? {} : { kid: jwk.kid }) })
    .encrypt(await importJWK(jwk, 'ECDH-ES'))
}

/** Answers the request, encrypted where it asks for that, and fails unless the verifier accepts. */
export async function answer(services: Services, request: WalletRequest, presentation: string): Promise<void> {
  const key = encryptionKeyOf(request)
  const token = { card: [presentation] }
  const form: Record<string, string> = key
    ? { response: await encryptFor(key, JSON.stringify({ vp_token: token, state: request.state })) }
    : { vp_token: JSON.stringify(token), state: request.state }
  const response = await postForm(services, request.response_uri, form)
  assert.equal(response.status, 200, await response.text())
}

/** Returns the thumbprint of the key that the answer is encrypted for, as the handover of an mdoc names it. */
export async function thumbprintOf(request: WalletRequest): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const key = encryptionKeyOf(request)
  return key && new Uint8Array(Buffer.from(await calculateJwkThumbprint(key), 'base64url'))
}

/** Makes the presentation that our own wallet makes for the request. */
export async function presentOurs(
  format: string,
  credential: string,
  { signer }: Pick<Holder, 'signer'>,
  request: WalletRequest,
): Promise<string> {
  const { vct, doctype } = sampleOf(format).configuration
  const path = vct ? ['given_name'] : doctype ? [NAMESPACE, 'given_name'] : ['credentialSubject', 'given_name']
  const binding = {
    nonce: request.nonce,
    audience: request.client_id,
    recipient: { responseUri: request.response_uri },
    encryptionKeyThumbprint: await thumbprintOf(request),
    transactionData: [],
    at: new Date(),
  }
  return (formatOf(format) ?? assert.fail(`no ${format}`)).present(credential, [path], binding, signer)
}

/**
 * Makes a Verifiable Presentation as a JWT, which no package here makes. OpenID4VP 1.0, Presentation Response of
 * jwt_vc_json.
 */
export function presentJwt(credential: string, { signer }: Holder, request: WalletRequest): Promise<string> {
  const payload = {
    iss: signer.kid,
    nonce: request.nonce,
    aud: request.client_id,
    iat: Math.floor(Date.now() / 1000),
    vp: {
      '@context': ['https://www.w3.org/2018/credentials/v1'],
      type: ['VerifiablePresentation'],
      verifiableCredential: [credential],
    },
  }
  return writeJws({ typ: 'JWT', alg: 'ES256', kid: signer.kid }, payload, (data) => signer.sign(data))
}

export function sha256(data: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(data).digest())
}
