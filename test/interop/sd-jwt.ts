/** The npm packages `@sd-jwt/core` and `@sd-jwt/sd-jwt-vc`, with node:crypto for their keys, and the rows they take. */
import assert from 'node:assert/strict'
import { createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto'
import type { JsonObject } from '../../src/codec/json.ts'
import { readSdJwt } from '../../src/codec/sd-jwt.ts'
import type { Services } from '../support/services.ts'
import { configuration, issueCredential } from '../support/wire.ts'
import { answer, type Holder, makeHolder, presentOurs, sha256, type WalletRequest } from './holder.ts'
import type { Row } from './rows.ts'
import { assertVerified, requestOf, sampleOf, VCT } from './samples.ts'

interface VerifiedCredential {
  readonly payload: JsonObject
  readonly header: JsonObject
  readonly kb?: { readonly payload: JsonObject; readonly header: JsonObject }
}

interface Instance {
  issue(payload: object, frame: object, options: object): Promise<string>
  present(text: string, frame: object, options: { readonly kb: { readonly payload: object } }): Promise<string>
  verify(text: string, options: { readonly keyBindingNonce?: string }): Promise<VerifiedCredential>
  keys(text: string): Promise<string[]>
}

type InstanceClass = new (config: object) => Instance

// The packages are named at run time, because they are installed for these tests only, and their types take seconds to
// check.
const core: string = '@sd-jwt/core'
const vc: string = '@sd-jwt/sd-jwt-vc'
const { SDJwtInstance } = (await import(core)) as { readonly SDJwtInstance: InstanceClass }
const { SDJwtVcInstance } = (await import(vc)) as { readonly SDJwtVcInstance: InstanceClass }

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
const signText = (key: KeyObject) => (data: string) =>
  textOf(sign('sha256', Buffer.from(data), { key, dsaEncoding: 'ieee-p1363' }))
const isSigned = (key: KeyObject, data: string, signature: string) =>
  verify('sha256', Buffer.from(data), { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))

const textFrom = (fetch: typeof globalThis.fetch) => async (url: string) =>
  (await fetch(url, { headers: { accept: 'application/statuslist+jwt' } })).text()

export interface Keys {
  readonly issuer?: KeyObject
  readonly holder?: KeyObject
  /** The network for status lists, which the package looks up for every SD-JWT VC that names one. */
  readonly fetch?: typeof globalThis.fetch
}

/** Makes the package with the keys of an issuer and a holder; it finds the bound key as a verifier would. */
export function sdJwt(keys: Keys, format = 'jwt_vc_json-ld'): Instance {
  const config = {
    hashAlg: 'sha-256',
    hasher: (data: string | ArrayBuffer) => sha256(typeof data === 'string' ? data : new Uint8Array(data)),
    saltGenerator: (length: number) => textOf(randomBytes(length)),
    signAlg: 'ES256',
    kbSignAlg: 'ES256',
    verifier: (data: string, signature: string) =>
      keys.issuer !== undefined && isSigned(createPublicKey(keys.issuer), data, signature),
    kbVerifier: (data: string, signature: string, payload: { readonly cnf: { readonly jwk: object } }) =>
      isSigned(createPublicKey({ key: payload.cnf.jwk as never, format: 'jwk' }), data, signature),
    ...(keys.issuer ? { signer: signText(keys.issuer) } : {}),
    ...(keys.holder ? { kbSigner: signText(keys.holder) } : {}),
    ...(keys.fetch ? { statusListFetcher: textFrom(keys.fetch) } : {}),
  }
  return format === 'dc+sd-jwt' ? new SDJwtVcInstance(config) : new SDJwtInstance({ ...config, omitTyp: true })
}

/** Shows the claims that the sample's query asks for. */
export function presentSdJwt(
  format: string,
  credential: string,
  holder: Holder,
  request: WalletRequest,
): Promise<string> {
  const frame = format === 'dc+sd-jwt' ? { given_name: true } : { credentialSubject: { given_name: true } }
  const payload = { nonce: request.nonce, aud: request.client_id, iat: Math.floor(Date.now() / 1000) }
  return sdJwt({ holder: holder.key }, format).present(credential, frame, { kb: { payload } })
}

async function holds(services: Services, format: string, step: Parameters<Row['run']>[1]): Promise<void> {
  const holder = await makeHolder()
  const { configuration: posted, dataset } = sampleOf(format)
  const credential = await issueCredential(services, holder.signer, posted, dataset)
  await step('credential', async () => {
    const { payload } = await sdJwt({ issuer: services.issuerKey, fetch: services.fetch }, format).verify(
      credential,
      {},
    )
    for (const [name, value] of Object.entries(dataset)) assert.deepEqual(payload[name], value)
  })
  const { sessionId, request } = await requestOf(services, format)
  const text = await step('presentation', () => presentSdJwt(format, credential, holder, request))
  await step('verification', async () => {
    await answer(services, request, text)
    await assertVerified(services, format, sessionId)
  })
}

async function verifies(services: Services, format: string, step: Parameters<Row['run']>[1]): Promise<void> {
  const { signer } = await makeHolder()
  const { configuration: posted, dataset, claims } = sampleOf(format)
  const credential = await issueCredential(services, signer, posted, dataset)
  const { request } = await requestOf(services, format)
  const text = await presentOurs(format, credential, { signer }, request)
  await step('verification', async () => {
    const instance = sdJwt({ issuer: services.issuerKey, fetch: services.fetch }, format)
    const { payload, kb } = await instance.verify(text, { keyBindingNonce: request.nonce })
    for (const [name, value] of Object.entries(claims)) assert.deepEqual(payload[name], value)
    assert.equal(kb?.payload.aud, request.client_id)
  })
}

async function issues(services: Services, format: string, step: Parameters<Row['run']>[1]): Promise<void> {
  const { signer } = await makeHolder()
  const { configuration: posted, dataset } = sampleOf(format)
  const x5c = readSdJwt(await issueCredential(services, signer, posted, dataset)).jws.header.x5c
  const now = Math.floor(Date.now() / 1000)
  const isVc = format === 'dc+sd-jwt'
  const credential = await step('credential', () =>
    sdJwt({ issuer: services.issuerKey }, format).issue(
      {
        ...(isVc ? { vct: VCT } : { ...definition, issuer: 'http://issuer.localhost' }),
        iss: 'http://issuer.localhost',
        iat: now,
        exp: now + 3600,
        cnf: { jwk: signer.jwk },
        ...dataset,
      },
      isVc ? frame : { credentialSubject: frame },
      { header: { typ: isVc ? 'dc+sd-jwt' : 'vc+sd-jwt', x5c } },
    ),
  )
  const { sessionId, request } = await requestOf(services, format)
  const text = await step('presentation', () => presentOurs(format, credential, { signer }, request))
  await step('verification', async () => {
    await answer(services, request, text)
    await assertVerified(services, format, sessionId)
  })
}

const frame = { _sd: ['given_name', 'family_name'], _sd_decoy: 3 }
const { credential_definition: definition } = configuration

const formats = [
  { format: 'jwt_vc_json-ld', packages: [core], specification: 'RFC 9901, VC-JOSE-COSE' },
  { format: 'dc+sd-jwt', packages: [vc, core], specification: 'RFC 9901, SD-JWT VC' },
]

/** Each package in each role. */
export const sdJwtRows: readonly Row[] = formats.flatMap((row) => [
  { ...row, role: 'holder', run: (services, step) => holds(services, row.format, step) },
  { ...row, role: 'verifier', run: (services, step) => verifies(services, row.format, step) },
  { ...row, role: 'issuer', run: (services, step) => issues(services, row.format, step) },
])
