/**
 * Several credentials for one request, each bound to a key of its own, and what an attacker would do with that.
 * OpenID4VCI 1.0, Batch Credential Issuance and Credential Response; facts section 5 items 7 and 8.
 */

import { createPublicKey } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readJws } from '../../src/codec/jws.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { thumbprint } from '../../src/keys/jwk.ts'
import { isJwsSignedBy } from '../../src/keys/signature.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { type Attester, attestationOf, makeAttester, trusting } from '../support/attestation.ts'
import {
  CREDENTIAL_ENDPOINT,
  dump,
  expectRefusal,
  expectWithoutEffect,
  proofOf,
  type Ready,
  readySession,
  request,
} from '../support/issuance.ts'
import type { JwtChanges } from '../support/jwt.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { act } from '../support/status.ts'
import { configuration, declare, fetchNonce, holderSigner, statusOf } from '../support/wire.ts'

const makeHolders = (count: number): Promise<Signer[]> =>
  Promise.all(Array.from({ length: count }, () => holderSigner()))

let services: Services

const declareBatch = (size: number, more: object = {}): Promise<string> =>
  declare(services, { ...configuration, batch_size: size, ...more })

async function batchSession(size: number, more: object = {}): Promise<Ready> {
  return readySession(services, { credential_configurations: [await declareBatch(size, more)] })
}

/** Sends a request with a proof by each holder, the last one changed. */
async function requestBatch(ready: Ready, holders: readonly Signer[], last: JwtChanges = {}): Promise<Response> {
  const jwt = await Promise.all(
    holders.map((holder, index) => proofOf({ ...ready, holder }, index === holders.length - 1 ? last : {})),
  )
  return request(ready, { proof: undefined, proofs: { jwt } })
}

async function credentialsIn(response: Response): Promise<readonly string[]> {
  const body = (await response.json()) as { readonly credentials?: readonly { readonly credential: string }[] }
  expect([response.status, Object.keys(body)]).toEqual([200, expect.arrayContaining(['credentials'])])
  return (body.credentials ?? []).map(({ credential }) => credential)
}

interface Read {
  readonly cnf: { readonly jwk: unknown }
  readonly iat: number
  readonly exp: number
  readonly status: { readonly status_list: object }
}

function payloadOf(credential: string): Read {
  const jws = readJws(credential.split('~')[0] ?? '')
  const [leaf = ''] = jws.header.x5c as readonly string[]
  const key = parseCertificate(Buffer.from(leaf, 'base64')).publicKey
  expect(isJwsSignedBy(jws, createPublicKey(key.export({ type: 'spki', format: 'pem' })))).toBe(true)
  return jws.payload as unknown as Read
}

const boundTo = (credentials: readonly string[]): unknown[] => credentials.map((each) => payloadOf(each).cnf.jwk)

describe('a batch', () => {
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  it('has a credential for each key, in the order of the proofs, which tell nothing of each other', async () => {
    const ready = await batchSession(5)
    const holders = await makeHolders(5)
    const credentials = await credentialsIn(await requestBatch(ready, holders))
    expect(boundTo(credentials)).toEqual(holders.map(({ jwk }) => jwk))
    const disclosures = credentials.flatMap((each) => each.split('~').slice(1, -1))
    expect(new Set(disclosures).size).toBe(disclosures.length)
    const times = new Set(credentials.map((each) => `${payloadOf(each).iat} ${payloadOf(each).exp}`))
    expect(times.size).toBe(1)
    const entries = new Set(credentials.map((each) => JSON.stringify(payloadOf(each).status)))
    expect(entries.size).toBe(5)
  })

  it('spends its nonce once, and is one copy of ten', async () => {
    const ready = await batchSession(3)
    const holders = await makeHolders(3)
    await credentialsIn(await requestBatch(ready, holders))
    const again = await requestBatch(ready, holders)
    await expectRefusal(again, { status: 400, error: 'invalid_nonce' })
    for (let copy = 2; copy <= 10; copy += 1) {
      const nonce = await fetchNonce(services, ready.sessionId)
      expect(await credentialsIn(await requestBatch({ ...ready, nonce }, holders))).toHaveLength(3)
    }
    const nonce = await fetchNonce(services, ready.sessionId)
    const eleventh = await requestBatch({ ...ready, nonce }, holders)
    await expectRefusal(eleventh, { status: 400, error: 'credential_request_denied' })
    const { credentials } = (await statusOf(services, ISSUER_URL, ready.sessionId)) as { credentials: object[] }
    expect(credentials).toHaveLength(30)
    expect(credentials[29]).toMatchObject({ credential_configuration_id: ready.configurationId })
  })

  it('of a session that was revoked takes no entry of a status list, however often it is asked for', async () => {
    const ready = await batchSession(100)
    const holders = await makeHolders(100)
    await credentialsIn(await requestBatch(ready, holders.slice(0, 1)))
    expect(await act(services, 'revoke', ready.sessionId)).toMatchObject([200, {}])
    const nonce = await fetchNonce(services, ready.sessionId)
    const leased = async () => (await services.issuerStore.get('status_space', 'current'))?.value.next
    const before = await leased()
    for (let times = 0; times < 2; times += 1) {
      const response = await requestBatch({ ...ready, nonce }, holders)
      await expectRefusal(response, { status: 400, error: 'credential_request_denied', why: /revoked/ })
    }
    expect(await leased()).toBe(before)
  })

  it('may be smaller than the batch size, and as large as the largest that can be declared', async () => {
    const ready = await batchSession(100)
    const holders = await makeHolders(100)
    expect(await credentialsIn(await requestBatch(ready, holders.slice(0, 2)))).toHaveLength(2)
    const nonce = await fetchNonce(services, ready.sessionId)
    const all = await credentialsIn(await requestBatch({ ...ready, nonce }, holders))
    expect(boundTo(all)).toEqual(holders.map(({ jwk }) => jwk))
  })

  it('of a hundred lets others have their answers in the meantime', async () => {
    const ready = await batchSession(100)
    const holders = await makeHolders(100)
    const jwt = await Promise.all(holders.map((holder) => proofOf({ ...ready, holder })))
    let answered = 0
    const batch = request(ready, { proof: undefined, proofs: { jwt } })
    const done = new Set<Response>()
    const isDone = batch.then((response) => done.add(response))
    // Each begins in another turn of the event loop than the one before.
    while (done.size === 0) {
      await setImmediate()
      await fetchNonce(services, ready.sessionId)
      answered += 1
    }
    await isDone
    // How many depends on the machine; all in one turn would let in one or two.
    expect(answered).toBeGreaterThan(5)
    expect((await batch).status).toBe(200)
  })

  it('lets one of 20 with the same nonce through, and leaves the others without effect', async () => {
    const ready = await batchSession(20)
    const holders = await makeHolders(20)
    const leased = async () => (await services.issuerStore.get('status_space', 'current'))?.value.next ?? 0
    const before = await leased()
    const responses = await Promise.all(Array.from({ length: 20 }, () => requestBatch(ready, holders)))
    // The others are refused before an entry is taken or a credential is signed for them.
    expect((await leased()) - before).toBeLessThanOrEqual(64)
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    const { credentials } = (await statusOf(services, ISSUER_URL, ready.sessionId)) as { credentials: object[] }
    expect(credentials).toHaveLength(20)
  })

  it('is judged by what was issued while its body was on its way', async () => {
    const ready = await batchSession(100)
    const holders = await makeHolders(100)
    const nextNonce = () => fetchNonce(services, ready.sessionId)
    for (let copies = 0; copies < 9; copies += 1) {
      await credentialsIn(await requestBatch({ ...ready, nonce: await nextNonce() }, holders.slice(0, 1)))
    }
    const leased = async () => (await services.issuerStore.get('status_space', 'current'))?.value.next ?? 0
    const before = await leased()
    const late = { ...ready, nonce: await nextNonce() }
    const jwt = await Promise.all(holders.map((holder) => proofOf({ ...late, holder })))
    const last = { ...ready, nonce: await nextNonce() }
    async function* body() {
      expect((await requestBatch(last, holders)).status).toBe(200)
      services.clock.now = new Date(services.clock.now.getTime() + 100)
      yield JSON.stringify({ credential_configuration_id: ready.configurationId, proofs: { jwt } })
    }
    const response = await services.issuer.inject({
      method: 'POST',
      url: new URL(CREDENTIAL_ENDPOINT).pathname,
      headers: { authorization: `Bearer ${ready.token}`, 'content-type': 'application/json' },
      payload: Readable.from(body()),
    })
    expect([response.statusCode, response.json()]).toMatchObject([400, { error: 'credential_request_denied' }])
    // The hundred of the last batch that was allowed, of leases of 64.
    expect((await leased()) - before).toBeLessThanOrEqual(128)
  })

  it('is judged by what was issued while it waited for another of its session', async () => {
    const ready = await batchSession(100)
    const holders = await makeHolders(100)
    const next = async () => ({ ...ready, nonce: await fetchNonce(services, ready.sessionId) })
    for (let copies = 0; copies < 9; copies += 1)
      await credentialsIn(await requestBatch(await next(), holders.slice(0, 1)))
    const leased = async () => (await services.issuerStore.get('status_space', 'current'))?.value.next ?? 0
    const before = await leased()
    const last = await Promise.all(Array.from({ length: 3 }, next))
    const responses = await Promise.all(last.map((each) => requestBatch(each, holders)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400])
    // The hundred of the batch that was allowed, of leases of 64.
    expect((await leased()) - before).toBeLessThanOrEqual(128)
  })

  it('is refused beyond a thousand credentials of its session, whatever they are', async () => {
    const [large, other] = [await declareBatch(100), await declareBatch(1)]
    const ready = await readySession(services, { credential_configurations: [large, other] })
    const holders = await makeHolders(100)
    const requestSome = async (id: string, some: readonly Signer[]) =>
      requestBatch({ ...ready, configurationId: id, nonce: await fetchNonce(services, ready.sessionId) }, some)
    for (let batches = 0; batches < 10; batches += 1)
      expect(await credentialsIn(await requestSome(large, holders))).toHaveLength(100)
    const refusal = { status: 400, error: 'credential_request_denied', why: /at most 1000 credentials/ }
    await expectRefusal(await requestSome(other, holders.slice(0, 1)), refusal)
  })

  it('is refused while 64 requests of its session wait, with when to try again', async () => {
    const ready = await batchSession(2)
    const [holder] = await makeHolders(1)
    const responses = await Promise.all(Array.from({ length: 72 }, () => requestBatch(ready, [holder as Signer])))
    // Not 5xx, which tells operators of errors of the service: one wallet alone can cause this at any time.
    const busy = responses.filter(({ status }) => status === 429)
    expect(busy).toHaveLength(8)
    expect(busy[0]?.headers.get('retry-after')).toBe('1')
    expect(await busy[0]?.json()).toMatchObject({ error: 'too_many_requests' })
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  it.each<[string, (ready: Ready) => JwtChanges | Promise<JwtChanges>, string, RegExp]>([
    ['by another key than it names', async () => signedByOther(), 'invalid_proof', /signature/],
    ['for another audience', () => ({ payload: { aud: 'https://other.example' } }), 'invalid_proof', /aud/],
    ['of an hour ago', () => ({ payload: { iat: 1_000_000_000 } }), 'invalid_proof', /too old/],
    ['without a nonce', () => ({ payload: { nonce: undefined } }), 'invalid_proof', /no nonce/],
    ['of another type', () => ({ header: { typ: 'JWT' } }), 'invalid_proof', /typ/],
    [
      'with another nonce of the session',
      async ({ sessionId }) => ({ payload: { nonce: await fetchNonce(services, sessionId) } }),
      'invalid_proof',
      /the same nonce/,
    ],
  ])('with one proof %s is refused whole, and spends nothing', async (_, change, error, why) => {
    const ready = await batchSession(3)
    const holders = await makeHolders(3)
    await expectWithoutEffect(services, async () => requestBatch(ready, holders, await change(ready)), {
      status: 400,
      error,
      why,
    })
    expect(await credentialsIn(await requestBatch(ready, holders))).toHaveLength(3)
  })

  it('with the same key twice is refused, also where it is named in two ways', async () => {
    const ready = await batchSession(3)
    const [holder, other] = (await makeHolders(2)) as [Signer, Signer]
    const before = await dump(services)
    const asJwk: JwtChanges = { header: { kid: undefined, jwk: { ...holder.jwk } } }
    for (const last of [{}, asJwk]) {
      const response = await requestBatch(ready, [holder, other, holder], last)
      await expectRefusal(response, { status: 400, error: 'invalid_proof', why: /the same key/ })
    }
    expect(await dump(services)).toBe(before)
  })

  it('with the same key or the same text twice is refused before a signature is verified', async () => {
    const ready = await batchSession(3)
    const [holder] = (await makeHolders(1)) as [Signer]
    const proofs = [await proofOf({ ...ready, holder }), await proofOf({ ...ready, holder })].map(
      (proof) => `${proof.slice(0, proof.lastIndexOf('.'))}.${'A'.repeat(86)}`,
    )
    for (const jwt of [proofs, [proofs[0], proofs[0]]]) {
      const response = await request(ready, { proof: undefined, proofs: { jwt } })
      await expectRefusal(response, { status: 400, error: 'invalid_proof', why: /the same key/ })
    }
  })

  it('with one proof too many is refused, and says how many there may be', async () => {
    const ready = await batchSession(3)
    const holders = await makeHolders(4)
    const before = await dump(services)
    const refusal = { status: 400, error: 'invalid_proof', why: /4 key proofs.*at most 3 \(batch_size\)/ }
    await expectRefusal(await requestBatch(ready, holders), refusal)
    expect(await dump(services)).toBe(before)
    expect(await credentialsIn(await requestBatch(ready, holders.slice(1)))).toHaveLength(3)
  })

  it('with something that is not proof among them is refused', async () => {
    const ready = await batchSession(3)
    const jwt = await proofOf(ready)
    for (const other of [5, null, { jwt }]) {
      const response = await request(ready, { proof: undefined, proofs: { jwt: [jwt, other] } })
      await expectRefusal(response, {
        status: 400,
        error: 'invalid_proof',
        why: /proofs\.jwt\[1\] must be a key proof/,
      })
    }
  })

  it('gets fewer where another configuration of the session has the larger batch that the metadata tells of', async () => {
    const [small, large] = [await declareBatch(1), await declareBatch(4)]
    const ready = await readySession(services, { credential_configurations: [small, large] })
    const holders = await makeHolders(4)
    const credentials = await credentialsIn(await requestBatch(ready, holders))
    expect(boundTo(credentials)).toEqual([holders[0]?.jwk])
  })

  it('answers a wallet of draft 14 with the first beside all of them', async () => {
    const ready = await batchSession(2)
    const holders = await makeHolders(2)
    const jwt = await Promise.all(holders.map((holder) => proofOf({ ...ready, holder })))
    const { format, credential_definition } = configuration
    const asked = { credential_configuration_id: undefined, format, credential_definition, proof: undefined }
    const response = await request(ready, { ...asked, proofs: { jwt } })
    const body = (await response.json()) as { credential: string; credentials: { credential: string }[] }
    expect(body.credentials.map(({ credential }) => credential)).toHaveLength(2)
    expect(body.credential).toBe(body.credentials[0]?.credential)
  })
})

describe('the metadata', () => {
  beforeAll(async () => {
    services = await startServices({
      issuer: { issuer: { id: ISSUER_URL, display: { name: 'Example University' }, identifier: 'base' } },
    })
  })
  afterAll(() => services.close())

  async function batchIn(path: string): Promise<unknown> {
    return ((await (await services.fetch(`${ISSUER_URL}${path}`)).json()) as Record<string, unknown>)
      .batch_credential_issuance
  }

  it('names the largest batch of what it lists, and none where there is none', async () => {
    const single = await readySession(services, { credential_configurations: [await declareBatch(1)] })
    const base = '/.well-known/openid-credential-issuer'
    expect(await batchIn(base)).toBeUndefined()
    const five = await declareBatch(5)
    await declareBatch(9)
    const ready = await readySession(services, { credential_configurations: [single.configurationId, five] })
    for (const path of [`${base}/${ready.sessionId}`, `/${ready.sessionId}/.well-known/openid-credential-issuer`]) {
      expect(await batchIn(path)).toEqual({ batch_size: 5 })
    }
    expect(await batchIn(`${base}/${single.sessionId}`)).toBeUndefined()
    services.clock.now = new Date(services.clock.now.getTime() + 2000)
    expect(await batchIn(base)).toEqual({ batch_size: 9 })
  })

  it('of the base is what a wallet goes by that was offered it', async () => {
    const ready = await readySession(services, { credential_configurations: [await declareBatch(2)] })
    await declareBatch(9)
    const holders = await makeHolders(10)
    const nine = await credentialsIn(await requestBatch(ready, holders.slice(1)))
    expect(nine).toHaveLength(2)
    const again = { ...ready, nonce: await fetchNonce(services, ready.sessionId) }
    await expectRefusal(await requestBatch(again, holders), { status: 400, error: 'invalid_proof', why: /at most 9/ })
  })
})

describe('a batch of attested keys', () => {
  let attester: Attester
  beforeAll(async () => {
    attester = await makeAttester()
    services = await startServices(trusting(attester))
  })
  afterAll(() => services.close())
  const attestationFor = (holders: readonly Signer[], nonce?: string): Promise<string> =>
    attestationOf(
      attester,
      holders.map(({ jwk }) => jwk),
      services.clock.now,
      nonce === undefined ? {} : { payload: { nonce } },
    )
  const needing = { key_attestations_required: {} }

  it('has a credential for each key of one attestation, and none for those beyond the batch', async () => {
    const ready = await batchSession(3, needing)
    const holders = await makeHolders(5)
    const attestation = [await attestationFor([...holders.slice(0, 1), ...holders], ready.nonce)]
    const response = await request(ready, { proof: undefined, proofs: { attestation } })
    expect(boundTo(await credentialsIn(response))).toEqual(holders.slice(0, 3).map(({ jwk }) => jwk))
  })

  it('has one for the key of the proof, and for those that are attested beside it', async () => {
    const ready = await batchSession(3, needing)
    const [other, holder, third] = (await makeHolders(3)) as [Signer, Signer, Signer]
    const header = { key_attestation: await attestationFor([other, holder, third]) }
    const credentials = await credentialsIn(await requestBatch(ready, [holder], { header }))
    expect(boundTo(credentials)).toEqual([holder.jwk, other.jwk, third.jwk])
  })

  it('has none for keys that somebody attests where nobody was asked for that', async () => {
    const ready = await batchSession(3)
    const [holder, victim] = (await makeHolders(2)) as [Signer, Signer]
    const header = { key_attestation: await attestationFor([holder, victim]) }
    const credentials = await credentialsIn(await requestBatch(ready, [holder], { header }))
    expect(boundTo(credentials)).toEqual([holder.jwk])
  })

  it.each([
    ['in one way', ['0', '0']],
    ['in two ways', ['0', undefined]],
  ])('is refused where two proofs name one attested key %s', async (_, kids) => {
    const ready = await batchSession(3, needing)
    const [holder, other] = (await makeHolders(2)) as [Signer, Signer]
    const attestation = await attestationFor([holder, other])
    const jwt = await Promise.all(
      kids.map((kid) => proofOf({ ...ready, holder }, { header: { kid, key_attestation: attestation } })),
    )
    const before = await dump(services)
    const response = await request(ready, { proof: undefined, proofs: { jwt } })
    await expectRefusal(response, { status: 400, error: 'invalid_proof', why: /the same key/ })
    expect(await dump(services)).toBe(before)
  })

  it('is refused whole when one of its proofs has no attestation', async () => {
    const ready = await batchSession(3, needing)
    const holders = await makeHolders(2)
    const before = await dump(services)
    const header = { key_attestation: await attestationFor(holders) }
    const response = await requestBatch(ready, holders, { header })
    await expectRefusal(response, { status: 400, error: 'invalid_proof', why: /needs a key attestation/ })
    expect(await dump(services)).toBe(before)
    const thumbprints = new Set(holders.map(({ jwk }) => thumbprint(jwk)))
    expect(thumbprints.size).toBe(2)
  })
})

async function signedByOther(): Promise<JwtChanges> {
  const other = await holderSigner()
  return { sign: (data) => other.sign(data) }
}
