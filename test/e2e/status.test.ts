/** Revoking, suspending and reinstating, and the lists that say so. Token Status List; Bitstring Status List. */
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { readJws } from '../../src/codec/jws.ts'
import { expectIssued, expectRefusal, readySession, request, startedSession } from '../support/issuance.ts'
import { mdocConfiguration, mdocDataset } from '../support/mdoc.ts'
import { API_KEY, ISSUER_URL, type Services, startServices } from '../support/services.ts'
import {
  act,
  copyOf,
  type IssuedCredential,
  issueWithStatus,
  readBitstring,
  readCborList,
  readList,
  referenceOf,
  verifiedCwt,
  verifiedJwt,
} from '../support/status.ts'
import { call, configuration, dataset, declare, fetchNonce, statusOf } from '../support/wire.ts'

const sdJwtVc = { format: 'dc+sd-jwt', vct: 'urn:example:card' }
const w3cJwt = { format: 'jwt_vc_json', credential_definition: { type: ['VerifiableCredential', 'StudentCard'] } }
const formats: readonly (readonly [string, object, object])[] = [
  ['jwt_vc_json-ld', configuration, dataset],
  ['dc+sd-jwt', sdJwtVc, dataset],
  ['jwt_vc_json', w3cJwt, dataset],
  ['mso_mdoc', mdocConfiguration, mdocDataset],
]

let services: Services
beforeAll(async () => {
  services = await startServices({ issuer: { statusList: { entries: 1024, ttlSeconds: 60 } } })
})
afterAll(() => services.close())

const events = async (sessionId: string, prefix = 'credential.') =>
  (await services.issuerStore.list('event'))
    .map(({ value }) => value)
    .filter((event) => event.sessionId === sessionId && event.type.startsWith(prefix))
    .sort((a, b) => a.at - b.at)
const statesOf = async (sessionId: string) =>
  ((await statusOf(services, ISSUER_URL, sessionId)).credentials as { credential_status: string }[]).map(
    ({ credential_status: state }) => state,
  )
const get = (url: string, headers: Record<string, string> = {}) => services.fetch(url, { headers })

describe('a credential', () => {
  it.each(formats)('of the format %s names its entry, and the entry follows it', async (_, posted, data) => {
    const { sessionId, status } = await issueWithStatus(services, posted, data)
    expect(status).toEqual({
      idx: expect.any(Number) as number,
      uri: expect.stringMatching(/^http:\/\/issuer\.localhost\/status-list\/[\w-]{22}$/) as string,
    })
    const both = async () => {
      const [list, cborList] = [await readList(services, status.uri), await readCborList(services, status.uri)]
      // ISO/IEC 18013-5 12.3.6: the list of mdocs has one bit for each, and no other status than revoked.
      expect(cborList).toEqual(list.map((value) => (value === 0 ? 0 : 1)))
      expect(list).toHaveLength(1024)
      return list[status.idx]
    }
    expect(await both()).toBe(0)
    const steps = [
      ['suspend', 'SUSPENDED', 2],
      ['reinstate', 'VALID', 0],
      ['suspend', 'SUSPENDED', 2],
      ['revoke', 'REVOKED', 1],
    ] as const
    for (const [name, state, value] of steps) {
      services.clock.now = new Date(services.clock.now.getTime() + 1000)
      expect(await act(services, name, sessionId)).toEqual([200, { session_id: sessionId, credential_status: state }])
      expect(await both()).toBe(value)
      expect(await statesOf(sessionId)).toEqual([state])
    }
    const recorded = await events(sessionId)
    expect(recorded.map(({ type, caller }) => [type, caller])).toEqual(
      ['suspended', 'reinstated', 'suspended', 'revoked'].map((name) => [`credential.${name}`, 'test']),
    )
    const now = await statusOf(services, ISSUER_URL, sessionId)
    // The time when the offer was fetched is written up to a second later, which may be between the two.
    expect({ ...recorded.at(-1)?.data, offer_fetched_at: now.offer_fetched_at }).toEqual(now)
  })

  it('shows its status whatever can be hidden', async () => {
    const payloadOf = ({ credential }: { readonly credential: string }) =>
      readJws(credential.split('~')[0] ?? '').payload
    for (const [, posted, data] of formats.slice(0, 3)) {
      const { credential, status } = await issueWithStatus(services, posted, data)
      expect(payloadOf({ credential }).status).toEqual({ status_list: status })
    }
  })

  it('that is declared with revocable: false has no entry, and cannot be revoked', async () => {
    for (const [format, posted, data] of formats) {
      const { sessionId, credential } = await issueWithStatus(services, { ...posted, revocable: false }, data)
      expect(referenceOf(format, credential)).toBe(undefined)
      expect(credential).not.toContain(Buffer.from('status_list').toString('base64url').slice(0, 12))
      expect(await act(services, 'revoke', sessionId)).toMatchObject([
        409,
        { error: 'invalid_state', error_description: expect.stringContaining('revocable: false') as string },
      ])
      expect(await statesOf(sessionId)).toEqual(['VALID'])
      expect(await events(sessionId)).toEqual([])
    }
  })

  it('takes no status from its dataset', async () => {
    const forged = { status_list: { idx: 0, uri: 'https://evil.example' } }
    const id = await declare(services, sdJwtVc)
    const w3c = await declare(services, { ...configuration, status: 'bitstring' })
    const bodies = [
      { credential_configurations: [id], credential_dataset: { name: 'Ada', status: forged } },
      { credential_configurations: [w3c], credential_dataset: { ...dataset, status: forged } },
      { credential_configurations: [w3c], credential_dataset: { ...dataset, credentialStatus: forged } },
    ]
    for (const body of bodies) {
      const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, body)
      expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }])
    }
    // Inside the subject they are claims like others.
    const subject = { credentialSubject: { name: 'Ada', status: forged, credentialStatus: 'student' } }
    const { status } = await issueWithStatus(services, { ...configuration, status: 'bitstring' }, subject)
    expect(status.uri).toMatch(/^http:\/\/issuer\.localhost\//)
  })
})

describe('the acts', () => {
  it('are for API keys only', async () => {
    const { sessionId, status, token } = await issueWithStatus(services)
    for (const headers of [
      {},
      { authorization: 'Bearer nobody' },
      { authorization: `Bearer ${token}` },
      { authorization: API_KEY },
    ]) {
      for (const name of ['revoke', 'suspend', 'reinstate']) {
        for (const id of [sessionId, 'unknown']) {
          const url = `${ISSUER_URL}/credential-status/${name}/${id}`
          await expectRefusal(await services.fetch(url, { method: 'POST', headers }), {
            status: 401,
            error: 'unauthorized',
          })
        }
      }
    }
    expect((await readList(services, status.uri))[status.idx]).toBe(0)
    expect(await statesOf(sessionId)).toEqual(['VALID'])
  })

  it('are harmless when repeated: nothing changes, and nothing is recorded twice', async () => {
    const { sessionId, status } = await issueWithStatus(services)
    const listId = status.uri.split('/').at(-1) ?? ''
    const version = async () => (await services.issuerStore.get('status_list', listId))?.version
    for (const name of ['suspend', 'revoke']) {
      const before = (await version()) ?? 0
      const [first, ...more] = [await act(services, name, sessionId), await act(services, name, sessionId)]
      expect(more).toEqual([first])
      const parallel = await Promise.all(Array.from({ length: 20 }, () => act(services, name, sessionId)))
      expect(new Set(parallel.map((each) => JSON.stringify(each)))).toEqual(new Set([JSON.stringify(first)]))
      expect(await version()).toBe(before + 1)
    }
    const types = (await events(sessionId)).map(({ type }) => type)
    expect(types.sort()).toEqual(['credential.revoked', 'credential.suspended'])
    const untouched = await issueWithStatus(services)
    expect(await act(services, 'reinstate', untouched.sessionId)).toMatchObject([200, { credential_status: 'VALID' }])
    expect(await events(untouched.sessionId)).toEqual([])
  })

  it('that come at the same time end in the one state that is final, each recorded once', async () => {
    const { sessionId, status } = await issueWithStatus(services)
    const names = Array.from({ length: 30 }, (_, place) => ['suspend', 'revoke', 'reinstate'][place % 3] ?? '')
    await Promise.all(names.map((name) => act(services, name, sessionId)))
    expect((await readList(services, status.uri))[status.idx]).toBe(1)
    expect((await events(sessionId)).filter(({ type }) => type === 'credential.revoked')).toHaveLength(1)
  })

  it.each(['suspend', 'reinstate'])('do not undo a revocation: %s', async (name) => {
    const { sessionId, status } = await issueWithStatus(services)
    await act(services, 'revoke', sessionId)
    expect(await act(services, name, sessionId)).toMatchObject([409, { error: 'invalid_state' }])
    expect((await readList(services, status.uri))[status.idx]).toBe(1)
    expect(await statesOf(sessionId)).toEqual(['REVOKED'])
  })

  it.each(['revoke', 'suspend', 'reinstate'])('need a credential: %s before one, and of no session', async (name) => {
    const { sessionId } = await startedSession(services)
    expect(await act(services, name, sessionId)).toMatchObject([409, { error: 'invalid_state' }])
    expect(await act(services, name, 'nobody')).toMatchObject([404, { error: 'not_found' }])
    expect(await act(services, name, `${sessionId}x`)).toMatchObject([404, { error: 'not_found' }])
  })

  it('reach the credentials of the session and no others', async () => {
    const all = []
    for (let left = 20; left > 0; left -= 1) all.push(await issueWithStatus(services))
    const [one, other, ...others] = all
    if (!one || !other) throw new Error('none')
    const before = await readList(services, one.status.uri)
    await act(services, 'revoke', one.sessionId)
    await act(services, 'suspend', other.sessionId)
    const after = await readList(services, one.status.uri)
    const expected = [...before]
    expected[one.status.idx] = 1
    expected[other.status.idx] = 2
    expect(after).toEqual(expected)
    for (const { sessionId } of others) expect(await statesOf(sessionId)).toEqual(['VALID'])
  })

  it('reach every copy, each with an entry of its own; afterwards there is none more', async () => {
    const first = await issueWithStatus(services)
    const copies = [first, await copyOf(first), await copyOf(first)]
    expect(new Set(copies.map(({ status }) => status.idx)).size).toBe(3)
    await act(services, 'suspend', first.sessionId)
    const listed = async () => {
      const list = await readList(services, first.status.uri)
      return copies.map(({ status }) => list[status.idx])
    }
    expect(await listed()).toEqual([2, 2, 2])
    expect(await statesOf(first.sessionId)).toEqual(['SUSPENDED', 'SUSPENDED', 'SUSPENDED'])
    for (const [name, word] of [
      ['suspend', /suspended/],
      ['revoke', /revoked/],
    ] as const) {
      await act(services, name, first.sessionId)
      const again = { ...first, nonce: await fetchNonce(services, first.sessionId) }
      await expectRefusal(await request(again), { status: 400, error: 'credential_request_denied', why: word })
      if (name === 'revoke') continue
      await act(services, 'reinstate', first.sessionId)
      copies.push(await copyOf(first))
    }
    expect(await listed()).toEqual([1, 1, 1, 1])
  })

  it('keep the session from giving out what has no entry of its own as well', async () => {
    const ids = [await declare(services), await declare(services, { ...configuration, revocable: false })]
    const ready = await readySession(services, { credential_configurations: ids })
    expect((await request(ready)).status).toBe(200)
    await act(services, 'revoke', ready.sessionId)
    const other = { ...ready, configurationId: ids[1] ?? '', nonce: await fetchNonce(services, ready.sessionId) }
    await expectRefusal(await request(other), { status: 400, error: 'credential_request_denied', why: /revoked/ })
  })

  it('work when the session and its data are gone', async () => {
    const { sessionId, status, configurationId } = await issueWithStatus(services)
    const row = await services.issuerStore.get('issuance_session', sessionId)
    await services.issuerStore.commit([{ delete: 'issuance_session', id: sessionId, version: row?.version ?? 0 }])
    await services.issuerStore.commit([{ delete: 'issuance_dataset', id: sessionId, version: 0 }])
    expect(await act(services, 'revoke', sessionId)).toEqual([
      200,
      { session_id: sessionId, credential_status: 'REVOKED' },
    ])
    expect((await readList(services, status.uri))[status.idx]).toBe(1)
    expect((await events(sessionId))[0]?.data).toEqual({
      session_id: sessionId,
      credentials: [{ credential_configuration_id: configurationId, credential_status: 'REVOKED' }],
    })
  })
})

describe('entries', () => {
  it('lie where nobody can tell from their neighbours', async () => {
    const indices: number[] = []
    for (let left = 40; left > 0; left -= 1) indices.push((await issueWithStatus(services)).status.idx)
    const steps = indices.slice(1).map((index, place) => index - (indices[place] ?? 0))
    expect(new Set(indices).size).toBe(40)
    // By chance one step in five hundred is as short.
    expect(steps.filter((step) => Math.abs(step) === 1).length).toBeLessThan(4)
    expect(new Set(steps).size).toBeGreaterThan(35)
  })

  it('are used to the last, and then come from a new list', async () => {
    const space = await services.issuerStore.get('status_space', 'current')
    const [value, version] = [space?.value, space?.version ?? 0]
    if (value === undefined) throw new Error('no space')
    await services.issuerStore.commit([
      { update: 'status_space', id: 'current', version, value: { ...value, next: value.entries - 3 } },
    ])
    const seen = new Map<string, Set<number>>()
    for (let left = 70; left > 0; left -= 1) {
      const { uri, idx } = (await issueWithStatus(services)).status
      const indices = seen.get(uri) ?? new Set()
      expect(indices.has(idx)).toBe(false)
      seen.set(uri, indices.add(idx))
      expect(idx).toBeLessThan(1024)
    }
    expect([...seen.values()].reduce((sum, { size }) => sum + size, 0)).toBe(70)
    expect(seen.size).toBe(2)
  })
})

describe('a status list token', () => {
  it('says who, where, since when and how long', async () => {
    const { status } = await issueWithStatus(services)
    const now = Math.floor(services.clock.now.getTime() / 1000)
    const response = await get(status.uri)
    expect(response.headers.get('content-type')).toBe('application/statuslist+jwt')
    const jwt = await response.text()
    const payload = await verifiedJwt(services, jwt, 'statuslist+jwt')
    expect(payload).toEqual({
      sub: status.uri,
      iat: expect.any(Number) as number,
      exp: Number(payload.iat) + 86_400,
      ttl: 60,
      status_list: { bits: 2, lst: expect.stringMatching(/^[\w-]+$/) as string },
    })
    expect(Number(payload.iat)).toBeLessThanOrEqual(now)
    // Yivi (irmago 1.3.0) refuses a token with `kid` beside `x5c`, and with it each credential that names the list.
    expect(Object.keys(readJws(jwt).header).sort()).toEqual(['alg', 'typ', 'x5c'])

    const cwt = await get(status.uri, { accept: 'application/statuslist+cwt' })
    expect(cwt.headers.get('content-type')).toBe('application/statuslist+cwt')
    const claims = verifiedCwt(new Uint8Array(await cwt.arrayBuffer()))
    expect([...claims.keys()].sort()).toEqual([2, 4, 6, 65_533, 65_534])
    expect(claims.get(65_534)).toBe(60)
    expect(claims.get(4)).toBe(Number(claims.get(6)) + 86_400)
  })

  it('is cached, and asked for again by its tag', async () => {
    const { sessionId, status } = await issueWithStatus(services)
    for (const accept of ['application/statuslist+jwt', 'application/statuslist+cwt']) {
      const first = await get(status.uri, { accept })
      const headers = Object.fromEntries(first.headers)
      expect(headers).toMatchObject({ 'cache-control': 'max-age=60', 'access-control-allow-origin': '*' })
      expect(headers.vary).toBe('Accept, Accept-Encoding')
      const etag = headers.etag ?? ''
      expect(etag).toMatch(/^W\/"[^"]+"$/)
      for (const condition of [etag, `"other", ${etag}`, etag.replace('W/', ''), '*']) {
        const again = await get(status.uri, { accept, 'if-none-match': condition })
        expect([again.status, await again.text()]).toEqual([304, ''])
        expect(Object.fromEntries(again.headers)).toMatchObject({
          etag,
          'cache-control': 'max-age=60',
          vary: headers.vary,
        })
      }
      // Byte for byte the same while nothing changes.
      expect(await (await get(status.uri, { accept })).text()).toBe(await first.text())
      for (const condition of ['', '""', 'W/"0.0.jwt"', etag.slice(0, -2)]) {
        expect((await get(status.uri, { accept, 'if-none-match': condition })).status).toBe(200)
      }
      await act(services, accept.endsWith('jwt') ? 'suspend' : 'revoke', sessionId)
      const changed = await get(status.uri, { accept, 'if-none-match': etag })
      expect(changed.status).toBe(200)
      expect(changed.headers.get('etag')).not.toBe(etag)
    }
    expect((await readList(services, status.uri))[status.idx]).toBe(1)
  })

  it('is another one for each media type', async () => {
    const { status } = await issueWithStatus(services)
    const tags = await Promise.all(
      ['application/statuslist+jwt', 'application/statuslist+cwt', '*/*'].map(async (accept) =>
        (await get(status.uri, { accept })).headers.get('etag'),
      ),
    )
    expect(new Set(tags).size).toBe(2)
    expect(tags[2]).toBe(tags[0])
  })

  it('is made anew before half of its life is over', async () => {
    const { status } = await issueWithStatus(services)
    const read = async () => verifiedJwt(services, await (await get(status.uri)).text(), 'statuslist+jwt')
    const before = services.clock.now
    const first = await read()
    for (let hours = 1; hours <= 30; hours += 1) {
      services.clock.now = new Date(before.getTime() + hours * 3_600_000)
      const { exp } = await read()
      expect(Number(exp) - services.clock.now.getTime() / 1000).toBeGreaterThan(43_000)
    }
    expect((await read()).iat).not.toBe(first.iat)
    services.clock.now = before
  })

  it('comes gzipped to who takes that', async () => {
    const { status } = await issueWithStatus(services)
    const plain = await (await get(status.uri)).text()
    for (const encoding of ['gzip', 'deflate, gzip;q=0.5, br', '*']) {
      const response = await get(status.uri, { 'accept-encoding': encoding })
      expect(response.headers.get('content-encoding')).toBe('gzip')
      expect(gunzipSync(Buffer.from(await response.arrayBuffer())).toString()).toBe(plain)
    }
    for (const encoding of ['', 'identity', 'br', 'gzip;q=0', 'gzip;q=0, *']) {
      const response = await get(status.uri, { 'accept-encoding': encoding })
      expect([response.headers.get('content-encoding'), await response.text()]).toEqual([null, plain])
    }
  })

  it('is of the present only', async () => {
    const { status } = await issueWithStatus(services)
    for (const query of ['time=1686925000', 'time', 'time=1&time=2', 'time[]=1']) {
      const response = await get(`${status.uri}?${query}`)
      const isTime = query !== 'time[]=1'
      expect(response.status).toBe(isTime ? 501 : 200)
      if (isTime) expect(await response.json()).toMatchObject({ error: 'not_implemented' })
    }
  })

  it('is not there when the list is not', async () => {
    const { status } = await issueWithStatus(services)
    const unknown = status.uri.replace(/.$/, '')
    for (const url of [unknown, `${unknown}/revocation`, `${ISSUER_URL}/status-list/current`, `${status.uri}.0`]) {
      await expectRefusal(await get(url), { status: 404, error: 'not_found' })
    }
    await expectRefusal(await get(`${status.uri}/message`), { status: 404, error: 'not_found' })
  })
})

describe('the lists of the W3C', () => {
  const posted = { ...configuration, status: 'bitstring' }
  const entriesIn = (credential: string): JsonObject[] => {
    const { payload } = readJws(credential.split('~')[0] ?? '')
    return ((payload.vc as JsonObject | undefined) ?? payload).credentialStatus as JsonObject[]
  }

  it.each([
    ['jwt_vc_json-ld', posted],
    ['jwt_vc_json', { ...w3cJwt, status: 'bitstring' }],
  ])('are named by a credential of the format %s that wants them, and say the same', async (_, wanting) => {
    const { credential, status, sessionId } = await issueWithStatus(services, wanting)
    const entries = entriesIn(credential)
    expect(entries).toEqual(
      ['revocation', 'suspension'].map((purpose) => ({
        id: `${status.uri}/${purpose}#${status.idx}`,
        type: 'BitstringStatusListEntry',
        statusPurpose: purpose,
        statusListIndex: String(status.idx),
        statusListCredential: `${status.uri}/${purpose}`,
      })),
    )
    const bits = async () => {
      const lists = await Promise.all(
        entries.map(({ statusListCredential: uri }) => readBitstring(services, uri as string)),
      )
      expect(lists.map(({ length }) => length)).toEqual([131_072, 131_072])
      return lists.map((list) => list[status.idx])
    }
    expect(await bits()).toEqual(['0', '0'])
    await act(services, 'suspend', sessionId)
    expect(await bits()).toEqual(['0', '1'])
    await act(services, 'revoke', sessionId)
    expect(await bits()).toEqual(['1', '0'])
  })

  it('say what every credential says, for all of the list', async () => {
    const { status } = await issueWithStatus(services, posted)
    const list = await readList(services, status.uri)
    for (const [purpose, value] of [
      ['revocation', 1],
      ['suspension', 2],
    ] as const) {
      const bits = await readBitstring(services, `${status.uri}/${purpose}`)
      expect(bits.slice(0, 1024)).toBe(list.map((each) => (each === value ? '1' : '0')).join(''))
      expect(bits.slice(1024)).toMatch(/^0+$/)
    }
  })

  it('are credentials of the issuer', async () => {
    const { status } = await issueWithStatus(services, posted)
    const url = `${status.uri}/suspension`
    const response = await get(url)
    expect(response.headers.get('content-type')).toBe('application/vc+jwt')
    expect(response.headers.get('cache-control')).toBe('max-age=60')
    const etag = response.headers.get('etag') ?? ''
    expect((await get(url, { 'if-none-match': etag })).status).toBe(304)
    const payload = await verifiedJwt(services, await response.text(), 'vc+jwt')
    expect(payload).toMatchObject({
      '@context': ['https://www.w3.org/ns/credentials/v2'],
      id: url,
      iss: ISSUER_URL,
      issuer: ISSUER_URL,
      type: ['VerifiableCredential', 'BitstringStatusListCredential'],
      validFrom: new Date(Math.floor(Date.parse(String(payload.validFrom)))).toISOString(),
      credentialSubject: { id: `${url}#list`, type: 'BitstringStatusList', statusPurpose: 'suspension', ttl: 60_000 },
    })
    expect(Date.parse(String(payload.validUntil)) - Date.parse(String(payload.validFrom))).toBe(86_400_000)
  })

  it('are not named unless they are wanted', async () => {
    expect(entriesIn((await issueWithStatus(services)).credential)).toBe(undefined)
  })

  it('are of W3C formats only, and of what can be revoked', async () => {
    const refused: readonly object[] = [
      { ...sdJwtVc, status: 'bitstring' },
      { ...mdocConfiguration, status: 'bitstring' },
      { ...configuration, status: 'bitstring', revocable: false },
      { ...configuration, status: 'token' },
    ]
    for (const body of refused) {
      const response = await call(services, `${ISSUER_URL}/credential-configuration/create`, body)
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: 'invalid_request', error_description: expect.stringMatching(/^status: /) as string },
      ])
    }
    const id = await declare(services, posted)
    expect(await (await call(services, `${ISSUER_URL}/credential-configuration/${id}`)).json()).toEqual(posted)
    const metadata = await (await get(`${ISSUER_URL}/.well-known/openid-credential-issuer`)).json()
    const shown = (metadata as { credential_configurations_supported: Record<string, object> })
      .credential_configurations_supported[id]
    expect(shown).not.toHaveProperty('status')
  })
})

describe('a revocation that cannot be written', () => {
  it('is not acknowledged, and has changed nothing', async () => {
    const { sessionId, status } = await issueWithStatus(services)
    const store = services.issuerStore as { commit: typeof services.issuerStore.commit }
    const commit = store.commit.bind(store)
    store.commit = () => Promise.reject(new Error('disk full'))
    try {
      expect(await act(services, 'revoke', sessionId)).toMatchObject([500, { error: 'server_error' }])
    } finally {
      store.commit = commit
    }
    expect((await readList(services, status.uri))[status.idx]).toBe(0)
    expect(await statesOf(sessionId)).toEqual(['VALID'])
    expect(await act(services, 'revoke', sessionId)).toMatchObject([200, { credential_status: 'REVOKED' }])
  })

  it('is made again as a whole when another was faster', async () => {
    // Two in the same part of a list.
    const parts = new Map<string, IssuedCredential>()
    let both: readonly [IssuedCredential, IssuedCredential] | undefined
    while (both === undefined) {
      const one = await issueWithStatus(services)
      const part = `${one.status.uri} ${Math.floor(one.status.idx / 32)}`
      const known = parts.get(part)
      parts.set(part, one)
      if (known !== undefined) both = [known, one]
    }
    const [{ sessionId, status }, other] = both
    const store = services.issuerStore as { commit: typeof services.issuerStore.commit }
    const commit = store.commit.bind(store)
    let tries = 0
    store.commit = async (changes) => {
      store.commit = commit
      tries += 1
      // The other is in the list before this one is written, whatever part of the list both are in.
      await act(services, 'suspend', other.sessionId)
      return commit(changes)
    }
    await act(services, 'revoke', sessionId)
    const list = await readList(services, status.uri)
    expect([tries, list[status.idx], list[other.status.idx]]).toEqual([1, 1, 2])
  })
})

describe('ready sessions', () => {
  it('get an entry only when they get a credential', async () => {
    const ready = await readySession(services)
    expect(await services.issuerStore.get('credential_status', ready.sessionId)).toBe(undefined)
    await expectIssued(ready)
    const row = await services.issuerStore.get('credential_status', ready.sessionId)
    expect(row?.value).toMatchObject({ state: 'VALID', entries: [{ configurationId: ready.configurationId }] })
  })
})
