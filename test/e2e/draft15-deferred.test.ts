/**
 * Wallets of draft 15 that wait for a credential, and those that want it encrypted: what the metadata at the appended
 * address promises them. Drafts 13 to 15, Deferred Credential Endpoint and Credential Request.
 */
import type { webcrypto } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { boundSession, dpopProof } from '../support/dpop.ts'
import { expectRefusal, proofOf, type Ready, readySession } from '../support/issuance.ts'
import { decryptResponse } from '../support/oidf-issuer.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { call, dataset, fetchNonce, requestCredential, statusOf } from '../support/wire.ts'

const OID4VCI = `${ISSUER_URL}/issuance/oid4vci`
const later = { credential_dataset: undefined, deferred: true }

describe('a wallet of draft 15', () => {
  let services: Services
  let key: webcrypto.CryptoKey
  let jwk: JWK
  beforeAll(async () => {
    services = await startServices()
    const pair = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true })
    key = pair.privateKey
    jwk = { ...(await exportJWK(pair.publicKey)), kid: 'suite' }
  })
  afterAll(() => services.close())

  const appended = async (sessionId: string, from = services) =>
    (await (await from.fetch(`${ISSUER_URL}/${sessionId}/.well-known/openid-credential-issuer`)).json()) as JsonObject
  const ask = async (ready: Ready, more: object = {}) =>
    requestCredential(ready.services, ready.token, {
      credential_configuration_id: ready.configurationId,
      proof: { proof_type: 'jwt', jwt: await proofOf(ready) },
      ...more,
    })
  const poll = async ({ services: from, sessionId, token }: Ready, body: object) => {
    const { deferred_credential_endpoint: url } = await appended(sessionId, from)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return from.fetch(url as string, { method: 'POST', headers, body: JSON.stringify(body) })
  }
  const complete = (sessionId: string) =>
    call(services, `${OID4VCI}/complete/${sessionId}`, { credential_dataset: dataset })
  const encryption = (more: object = {}) => ({
    credential_response_encryption: { jwk, alg: 'ECDH-ES', enc: 'A256GCM', ...more },
  })
  /** The members of an answer that is encrypted to the wallet. */
  const opened = async (response: Response) => {
    return (await (await decryptResponse(response, key)).json()) as JsonObject
  }

  it('is told issuance_pending at an endpoint that only its metadata names, until the credential is there', async () => {
    const ready = await readySession(services, later)
    const { deferred_credential_endpoint: older } = await appended(ready.sessionId)
    const final = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer/${ready.sessionId}`)
    const { deferred_credential_endpoint: newer } = (await final.json()) as JsonObject
    expect([older, newer]).toEqual([`${OID4VCI}/draft15/deferred-credential`, `${OID4VCI}/deferred-credential`])
    const { transaction_id: id } = (await (await ask(ready)).json()) as JsonObject
    for (let count = 0; count < 2; count++) {
      const pending = await poll(ready, { transaction_id: id })
      expect([pending.status, await pending.json()]).toEqual([
        400,
        { error: 'issuance_pending', error_description: expect.stringMatching(/again/) as string, interval: 5 },
      ])
    }
    expect(await statusOf(services, ISSUER_URL, ready.sessionId)).not.toHaveProperty('problem')
    await complete(ready.sessionId)
    const response = await poll(ready, { transaction_id: id })
    expect([response.status, await response.json()]).toMatchObject([200, { credentials: [{}] }])
    await expectRefusal(await poll(ready, { transaction_id: id }), { status: 400, error: 'invalid_transaction_id' })
  })

  it('is refused there like everywhere: without its token, or with what is not a transaction', async () => {
    const ready = await readySession(services, later)
    const refused = await poll({ ...ready, token: `${ready.token}x` }, { transaction_id: 'a' })
    await expectRefusal(refused, { status: 401, error: 'invalid_token' })
    await expectRefusal(await poll(ready, { transaction_id: 'a' }), { status: 400, error: 'invalid_transaction_id' })
    await expectRefusal(await poll(ready, {}), { status: 400, error: 'invalid_credential_request' })
  })

  it('proves there with DPoP what it proves elsewhere', async () => {
    const ready = await boundSession(services, later)
    const url = `${OID4VCI}/draft15/deferred-credential`
    const proof = await dpopProof({ services, key: ready.key, url, nonce: ready.dpop, token: ready.token })
    const headers = { authorization: `DPoP ${ready.token}`, dpop: proof, 'content-type': 'application/json' }
    const body = JSON.stringify({ transaction_id: 'a' })
    const once = await services.fetch(url, { method: 'POST', headers, body })
    await expectRefusal(once, { status: 400, error: 'invalid_transaction_id' })
  })

  it('finds in its metadata how its answers can be encrypted, and nothing of requests', async () => {
    const { sessionId } = await readySession(services)
    const metadata = await appended(sessionId)
    expect(metadata.credential_response_encryption).toEqual({
      alg_values_supported: ['ECDH-ES'],
      enc_values_supported: ['A128GCM', 'A256GCM'],
      encryption_required: false,
    })
    expect(metadata).not.toHaveProperty('credential_request_encryption')
  })

  it.each(['A128GCM', 'A256GCM'])(
    'gets its credential encrypted with %s, where it asks in the way of its time',
    async (enc) => {
      const ready = await readySession(services)
      expect(await opened(await ask(ready, encryption({ enc })))).toMatchObject({ credentials: [{}] })
    },
  )

  it('may name the algorithm in its key as well', async () => {
    const ready = await readySession(services)
    const named = encryption({ jwk: { ...jwk, alg: 'ECDH-ES', use: 'enc' } })
    expect(await opened(await ask(ready, named))).toMatchObject({ credentials: [{}] })
  })

  it('gets what it waits for encrypted as it asked first, since it says nothing of it later', async () => {
    const ready = await readySession(services, later)
    const first = await ask(ready, encryption())
    expect(first.status).toBe(202)
    const { transaction_id: id } = await opened(first)
    const pending = await poll(ready, { transaction_id: id })
    expect(await pending.json()).toMatchObject({ error: 'issuance_pending' })
    await complete(ready.sessionId)
    expect(await opened(await poll(ready, { transaction_id: id }))).toMatchObject({ credentials: [{}] })
  })

  it('gets what it waits for encrypted to another key, where it names one later', async () => {
    const ready = await readySession(services, later)
    const { transaction_id: id } = await opened(await ask(ready, encryption()))
    await complete(ready.sessionId)
    const newPair = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true })
    const newJwk = { ...(await exportJWK(newPair.publicKey)), kid: 'suite' }
    const response = await poll(ready, { transaction_id: id, ...encryption({ jwk: newJwk }) })
    expect(await (await decryptResponse(response, newPair.privateKey)).json()).toMatchObject({ credentials: [{}] })
  })

  it.each<[string, object, RegExp]>([
    ['another algorithm', { alg: 'RSA-OAEP-256' }, /alg/],
    ['an algorithm that its key contradicts', { jwk: { kty: 'EC', alg: 'ECDH-ES+A256KW' } }, /jwk/],
    ['another encryption', { enc: 'A192CBC-HS384' }, /enc/],
    ['no key', { jwk: undefined }, /jwk/],
  ])('is refused %s', async (_, more, why) => {
    const ready = await readySession(services)
    const refused = await ask(ready, encryption(more))
    await expectRefusal(refused, { status: 400, error: 'invalid_encryption_parameters', why })
    expect((await ask({ ...ready, nonce: await fetchNonce(services, ready.sessionId) })).status).toBe(200)
  })

  it('is told of no encryption where the operator wants requests encrypted too, and is refused', async () => {
    const strict = await startServices({ issuer: { credentialEncryption: 'required' } })
    try {
      const ready = await readySession(strict)
      expect(Object.keys(await appended(ready.sessionId, strict)).filter((name) => /encryption/.test(name))).toEqual([])
      const refused = await ask(ready, encryption())
      await expectRefusal(refused, {
        status: 400,
        error: 'invalid_encryption_parameters',
        why: /encrypted credential requests only/,
      })
    } finally {
      await strict.close()
    }
  })

  it('is told apart by its alg: a request of the final specification that is not encrypted is refused', async () => {
    const ready = await readySession(services)
    const wanted = { credential_response_encryption: { jwk: { ...jwk, alg: 'ECDH-ES' }, enc: 'A256GCM' } }
    const refused = await ask(ready, wanted)
    await expectRefusal(refused, { status: 400, error: 'invalid_encryption_parameters', why: /encrypted request/ })
  })
})
