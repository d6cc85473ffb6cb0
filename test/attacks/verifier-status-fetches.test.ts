/** The fetching of status lists: who is asked and how often, and what is done when nobody answers. */
import type { KeyObject } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { OutboundError } from '../../src/http/outbound.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import {
  base64,
  bitstring,
  bitstringEntryAt,
  bitstringParts,
  entries,
  IDX,
  type ListParts,
  makeNetwork,
  mdocEntryAt,
  newListUri,
  signList,
  tokenAt,
  tokenParts,
} from '../support/foreign-status.ts'
import {
  certify,
  type Forgery,
  makeAuthority,
  makeForgery,
  putTogether,
  signWith,
  startWorld,
  type World,
} from '../support/forge.ts'
import { startMdocWorld } from '../support/mdoc.ts'
import { queryFor, usualProfile } from '../support/profiles.ts'
import { makeKey, VERIFIER_URL } from '../support/services.ts'
import { present, statusOfCredential, statusOfMdoc, statusOutcome } from '../support/status-outcome.ts'
import { call, postForm, startVerification, statusOf } from '../support/wire.ts'
import { outcomesOf } from './attack.ts'

const network = makeNetwork()
let world: World
beforeAll(async () => {
  world = await startWorld({ outbound: network.outbound })
})
afterAll(() => world.services.close())
afterEach(() => {
  network.requests.length = 0
  network.at.clear()
})

/** Starts a world whose verifier goes on where a status list cannot be fetched. */
function startLenientWorld(): Promise<World> {
  return startWorld({
    outbound: network.outbound,
    verifier: { status: { onUnreachable: 'accept', allowPrivateAddresses: false } },
  })
}

const now = (): number => Math.floor(world.services.clock.now.getTime() / 1000)

describe('when nobody answers', () => {
  const unreachable = /^failed: the status list \S+ could not be looked at: /
  it('a credential is refused', async () => {
    const uri = newListUri()
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(unreachable)
    for (const status of [302, 404, 500, 206]) {
      const other = newListUri()
      network.at.set(other, { status, headers: { location: 'http://127.0.0.1/' }, body: new Uint8Array() })
      expect(await statusOfCredential(world, tokenAt(other))).toMatch(
        new RegExp(`looked at: issuer.example answered ${status}$`),
      )
    }
  })

  it('or taken with a warning, where the service is told to; what is answered still counts', async () => {
    const lenient = await startLenientWorld()
    expect(await statusOfCredential(lenient, tokenAt(newListUri()))).toMatch(
      /^warning: the status list \S+ could not be looked at: issuer\.example takes no connections$/,
    )
    expect(network.requests.at(-1)).toMatchObject({ allowPrivateAddresses: false })
    const uri = newListUri()
    network.at.set(uri, await signList(tokenParts(lenient, uri, entries(IDX, 1))))
    expect(await statusOfCredential(lenient, tokenAt(uri))).toMatch(/^failed: revoked/)
    const both = { ...tokenAt(newListUri()), credentialStatus: bitstringEntryAt(uri) }
    expect(await statusOfCredential(lenient, both)).toMatch(/^failed: the status list \S+ cannot be used/)
    await lenient.services.close()
  })

  it('is refused all the same where a list is larger than the limit', async () => {
    const lenient = await startLenientWorld()
    const uri = newListUri()
    network.at.set(uri, () => Promise.reject(new OutboundError('the answer of a.example is too large', 'size')))
    expect(await statusOfCredential(lenient, tokenAt(uri))).toMatch(
      /^failed: the status list \S+ cannot be used: the answer of a\.example is too large$/,
    )
    await lenient.services.close()
  })

  it('is asked for a bounded time and size, and never inside our network but by permission', async () => {
    await statusOfCredential(world, tokenAt(newListUri()))
    // The verifier of these tests is at a private address itself.
    expect(network.requests).toMatchObject([
      {
        timeoutMs: 5000,
        maxBytes: 2 * 1024 * 1024,
        allowPrivateAddresses: true,
        headers: { accept: expect.stringMatching(/^application\/statuslist\+jwt/) as string },
      },
    ])
    network.requests.length = 0
    const mdocs = await startMdocWorld({ outbound: network.outbound })
    await statusOfMdoc(mdocs, mdocEntryAt(newListUri()))
    await mdocs.services.close()
    expect(network.requests[0]?.headers?.accept).toMatch(/^application\/statuslist\+cwt, application\/statuslist\+jwt/)
  })

  it('says so in the log, without the address', async () => {
    const uri = newListUri()
    await statusOfCredential(world, tokenAt(uri))
    const lines = world.services.logLines.filter((line) => line.includes('status_list_not_usable'))
    expect(lines.at(-1)).toContain('issuer.example takes no connections')
    expect(lines.join('')).not.toContain('/status-list/')
  })
})

it('a response whose session expires while a list is fetched is refused, and the session has expired', async () => {
  const { services } = world
  const usualTime = services.clock.now
  onTestFinished(() => void Object.assign(services.clock, { now: usualTime }))
  const { sessionId, request } = await startVerification(services, { credentials: [queryFor(usualProfile)] })
  const uri = newListUri()
  const list = await signList(tokenParts(world, uri, entries(IDX, 0)))
  network.at.set(uri, () => {
    services.clock.now = new Date(usualTime.getTime() + 3_600_000)
    return Promise.resolve(list)
  })
  const forgery = await makeForgery(world, request)
  Object.assign(forgery.payload, tokenAt(uri))
  const form = { vp_token: JSON.stringify({ card: [await putTogether(forgery)] }), state: request.state }
  const response = await postForm(services, request.response_uri, form)
  expect([response.status, await response.json()]).toMatchObject([410, { error: 'gone' }])
  expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'EXPIRED' })
})

describe('who is asked, and how often', () => {
  it('nobody, for an issuer that is not trusted, or where nobody is', async () => {
    const stranger = await makeAuthority('Stranger CA')
    const uri = newListUri()
    const report = await present(world, queryFor(usualProfile), (forgery) => {
      forgery.header.x5c = base64([certify(stranger, world.issuerKey)])
      Object.assign(forgery.payload, tokenAt(uri))
    })
    expect(outcomesOf(Object.values(report.credentials)[0]?.[0])['status.valid']).toBe('not_run')
    const trusting = await startWorld({ outbound: network.outbound, verifier: { issuerTrustAnchors: undefined } })
    const free = await present(trusting, queryFor(usualProfile), ({ payload }) => Object.assign(payload, tokenAt(uri)))
    expect(outcomesOf(Object.values(free.credentials)[0]?.[0])['status.valid']).toBe('not_applicable')
    expect(network.requests).toEqual([])
    await trusting.services.close()
  })

  it.each<[string, (forgery: Forgery, otherKey: KeyObject) => void, string]>([
    ['has expired', ({ payload }) => void Object.assign(payload, { exp: now() - 500 }), 'validity.not_expired'],
    ['is not valid yet', ({ payload }) => void Object.assign(payload, { nbf: now() + 500 }), 'validity.not_before'],
    [
      'was made for another nonce',
      ({ binding }) => void Object.assign(binding?.payload ?? {}, { nonce: 'x' }),
      'holder.nonce',
    ],
    [
      'is by another key',
      ({ binding }, key) => void Object.assign(binding ?? {}, { sign: signWith(key) }),
      'holder.signature',
    ],
    ['is of another format', ({ header }) => void Object.assign(header, { typ: 'example+jwt' }), 'query.format'],
    ['names two issuers', ({ payload }) => void Object.assign(payload, { iss: 'urn:other' }), 'issuer.identifier'],
    ['has a disclosure too many', ({ disclosures }) => void disclosures.push('WyJhIiwiYiIsMV0'), 'disclosures.valid'],
  ])('nobody, for a presentation that %s', async (_, change, fails) => {
    const otherKey = await makeKey()
    const report = await present(world, queryFor(usualProfile), (forgery) => {
      Object.assign(forgery.payload, tokenAt(newListUri()))
      change(forgery, otherKey)
    })
    const outcomes = outcomesOf(Object.values(report.credentials)[0]?.[0])
    expect([outcomes[fails], outcomes['status.valid']]).toEqual(['failed', 'not_run'])
    expect(network.requests).toEqual([])
  })

  it('once for as long as the list says, and anew after that', async () => {
    const uri = newListUri()
    network.at.set(uri, await signList(tokenParts(world, uri, entries(IDX, 0))))
    const { clock } = world.services
    const start = clock.now
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/Z$/)
    expect(await statusOfCredential(world, tokenAt(uri, 5))).toMatch(/^passed: .* and kept since$/)
    network.at.set(uri, await signList(tokenParts(world, uri, entries(IDX, 1))))
    clock.now = new Date(start.getTime() + 3_599_000)
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/^passed/)
    clock.now = new Date(start.getTime() + 3_600_000)
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/^failed: revoked/)
    expect(network.requests).toHaveLength(2)
  })

  it.each<[string, JsonObject, number]>([
    ['a ttl of a tenth of a second', { ttl: 0.1 }, 5],
    ['a ttl of a year', { ttl: 31_536_000, exp: undefined as never }, 43_200],
    ['no ttl', { ttl: undefined as never }, 300],
    ['an end before its ttl', { ttl: 3600, exp: 60 }, 60],
  ])('with %s, for %#', async (_, change, life) => {
    const uri = newListUri()
    const parts = tokenParts(world, uri, entries(IDX, 0))
    const exp = change.exp === 60 ? { exp: now() + 60 } : {}
    Object.assign(parts.payload, change, exp)
    network.at.set(uri, await signList(parts))
    const { clock } = world.services
    clock.now = new Date(Math.floor(clock.now.getTime() / 1000) * 1000)
    const start = clock.now
    await statusOfCredential(world, tokenAt(uri))
    clock.now = new Date(start.getTime() + (life - 1) * 1000)
    await statusOfCredential(world, tokenAt(uri))
    expect(network.requests).toHaveLength(1)
    clock.now = new Date(start.getTime() + life * 1000)
    await statusOfCredential(world, tokenAt(uri))
    expect(network.requests).toHaveLength(2)
    clock.now = start
  })

  it('again after a minute for a list of the W3C with a ttl of 60000, which is in milliseconds', async () => {
    const uri = newListUri()
    const { clock } = world.services
    const parts = bitstringParts(world, uri, bitstring(IDX, false))
    Object.assign(parts.payload.credentialSubject as JsonObject, { ttl: 60_000 })
    network.at.set(uri, await signList(parts))
    for (const [seconds, requests] of [
      [0, 1],
      [59, 1],
      [1, 2],
    ] as const) {
      clock.now = new Date(clock.now.getTime() + seconds * 1000)
      expect(await statusOfCredential(world, { credentialStatus: bitstringEntryAt(uri) })).toMatch(/^passed/)
      expect(network.requests).toHaveLength(requests)
    }
  })

  it('once, by many at the same time', async () => {
    const uri = newListUri()
    const list = await signList(tokenParts(world, uri, entries(IDX, 0)))
    network.at.set(uri, () => new Promise((resolve) => setTimeout(resolve, 50, list)))
    const answers = await Promise.all(Array.from({ length: 5 }, () => statusOfCredential(world, tokenAt(uri))))
    expect(answers.every((answer) => answer.startsWith('passed'))).toBe(true)
    expect(network.requests).toHaveLength(1)
  })

  it('not again for a few seconds, when it failed', async () => {
    const uri = newListUri()
    const { clock } = world.services
    await statusOfCredential(world, tokenAt(uri))
    network.at.set(uri, await signList(tokenParts(world, uri, entries(IDX, 0))))
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/^failed/)
    expect(network.requests).toHaveLength(1)
    clock.now = new Date(clock.now.getTime() + 5000)
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/^passed/)
  })

  it.each<[string, (parts: ListParts) => void | Promise<void>, RegExp]>([
    ['a forgery', async (parts) => void Object.assign(parts, { key: await makeKey() }), /signature is not by/],
    ['one from the future', ({ payload }) => void Object.assign(payload, { iat: now() + 100 }), /from the future/],
    [
      'one that is over',
      ({ payload }) => void Object.assign(payload, { iat: now() - 7200, exp: now() - 100 }),
      /it expired/,
    ],
  ])('again after five seconds, where the list was %s with a ttl of twelve hours', async (_, change, problem) => {
    const uri = newListUri()
    const { clock } = world.services
    const parts = tokenParts(world, uri, entries(IDX, 0))
    parts.payload.ttl = 43_200
    await change(parts)
    network.at.set(uri, await signList(parts))
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(problem)
    network.at.set(uri, await signList(tokenParts(world, uri, entries(IDX, 0))))
    clock.now = new Date(clock.now.getTime() + 4999)
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(problem)
    expect(network.requests).toHaveLength(1)
    clock.now = new Date(clock.now.getTime() + 1)
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/^passed: .*Z$/)
    clock.now = new Date(clock.now.getTime() + 3_599_000)
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/kept since$/)
    expect(network.requests).toHaveLength(2)
  })

  it('again after five seconds for a list of the W3C that names another issuer', async () => {
    const uri = newListUri()
    const { clock } = world.services
    const right = bitstringParts(world, uri, bitstring(IDX, false))
    network.at.set(uri, await signList({ ...right, payload: { ...right.payload, issuer: 'https://other.example' } }))
    expect(await statusOfCredential(world, { credentialStatus: bitstringEntryAt(uri) })).toMatch(/another issuer/)
    network.at.set(uri, await signList(right))
    clock.now = new Date(clock.now.getTime() + 5000)
    expect(await statusOfCredential(world, { credentialStatus: bitstringEntryAt(uri) })).toMatch(/^passed/)
  })

  /** Returns the outcome of `status.valid` for each, in one response. */
  async function detailsOf(uris: readonly string[], at = world): Promise<readonly (string | undefined)[]> {
    const { services } = at
    const query = { ...queryFor(usualProfile), multiple: true }
    const { sessionId, request } = await startVerification(services, { credentials: [query] })
    const texts: string[] = []
    for (const uri of uris) {
      const forgery = await makeForgery(at, request)
      Object.assign(forgery.payload, tokenAt(uri))
      texts.push(await putTogether(forgery))
    }
    await postForm(services, request.response_uri, { vp_token: JSON.stringify({ card: texts }), state: request.state })
    const { result } = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as { result: VerificationReport }
    return (result.credentials.card ?? []).map(({ checks }) => checks.find(({ id }) => id === 'status.valid')?.detail)
  }

  it('three at most that do not answer, in one response', async () => {
    const lenient = await startLenientWorld()
    const details = await detailsOf(Array.from({ length: 4 }, newListUri), lenient)
    expect(network.requests).toHaveLength(3)
    expect(details[3]).toMatch(
      /cannot be used: it was not fetched, because 3 status lists of this response could not be fetched$/,
    )
    await lenient.services.close()
  })

  it('all three of one credential where none answers, which is then accepted by a verifier that accepts that', async () => {
    const lenient = await startLenientWorld()
    const [token, ...purposes] = [newListUri(), newListUri(), newListUri()] as const
    const status = { ...tokenAt(token), credentialStatus: purposes.map((uri) => bitstringEntryAt(uri)) }
    expect(await statusOfCredential(lenient, status)).toContain('could not be looked at')
    expect(network.requests).toHaveLength(3)
    await lenient.services.close()
  })

  it('and one that does not answer counts once, however many presentations of the response name it', async () => {
    const lenient = await startLenientWorld()
    const uri = newListUri()
    const details = await detailsOf([uri, uri, uri, newListUri(), uri], lenient)
    expect(network.requests).toHaveLength(2)
    expect(details).toHaveLength(5)
    for (const detail of details) expect(detail).toContain('could not be looked at')
    await lenient.services.close()
  })

  it('for a quarter of a minute at most, in one response, where each list takes its time to come', async () => {
    const { clock } = world.services
    const start = clock.now
    const uris = Array.from({ length: 6 }, newListUri)
    for (const uri of uris) {
      const list = await signList(tokenParts(world, uri, entries(IDX, 0)))
      network.at.set(uri, () => {
        clock.now = new Date(clock.now.getTime() + 4900)
        return Promise.resolve(list)
      })
    }
    const details = await detailsOf(uris)
    clock.now = start
    expect(network.requests).toHaveLength(4)
    expect(details.slice(0, 4).every((detail) => detail?.startsWith('not revoked or suspended'))).toBe(true)
    expect(details[4]).toMatch(
      /cannot be used: it was not fetched, because the other status lists of this response took 15 seconds$/,
    )
  })

  it.each([
    // Next to nothing in the list, and almost two megabytes around it.
    ['large lists', 20, 'x'.repeat(1_400_000), entries(IDX, 0)],
    ['lists that unpack to a megabyte', 65, '', new Uint8Array(2 ** 20)],
  ])('again for the lists that came first, when %s came since: memory is bounded', async (_, count, filling, bytes) => {
    const uris = Array.from({ length: count }, newListUri)
    for (const uri of uris) {
      const parts = tokenParts(world, uri, bytes)
      Object.assign(parts.payload, { filling })
      network.at.set(uri, await signList(parts))
    }
    for (const uri of [...uris, ...uris.slice(-2)])
      expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/^passed/)
    expect(network.requests).toHaveLength(count)
    expect(await statusOfCredential(world, tokenAt(uris[0] ?? ''))).toMatch(/^passed: .*Z$/)
    expect(network.requests).toHaveLength(count + 1)
  })

  it('an exception on the way is a failed check, and the next asks again', async () => {
    const uri = newListUri()
    network.at.set(uri, () => Promise.reject(new Error('a mistake of ours')))
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(
      /^failed: could not be decided because of an error in this service; its log has the error, under request [A-Za-z0-9_-]{16}$/,
    )
    network.at.set(uri, () => Promise.reject(new OutboundError('slow')))
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/looked at: slow$/)
  })

  it('a key that changes between two fetches changes nothing for who has the old one', async () => {
    const uri = newListUri()
    const { clock } = world.services
    network.at.set(uri, await signList(tokenParts(world, uri, entries(IDX, 0))))
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/^passed/)
    clock.now = new Date(clock.now.getTime() + 3_600_000)
    const rotated = tokenParts(world, uri, entries(IDX, 0))
    rotated.key = await makeKey()
    rotated.header.x5c = base64([certify(world.ca, rotated.key)])
    network.at.set(uri, await signList(rotated))
    expect(await statusOfCredential(world, tokenAt(uri))).toMatch(/^passed: .*Z$/)
  })

  it('the same for a presentation that the application has', async () => {
    const { services } = world
    const uri = newListUri()
    network.at.set(uri, await signList(tokenParts(world, uri, entries(IDX, 1))))
    const request = { nonce: 'nonce', client_id: 'us', state: '', response_uri: '' }
    const forgery = await makeForgery(world, request)
    Object.assign(forgery.payload, tokenAt(uri))
    const response = await call(services, `${VERIFIER_URL}/presentation/oid4vp/static-presentation`, {
      dcql_query: { credentials: [queryFor(usualProfile)] },
      vp_token: { card: [await putTogether(forgery)] },
      nonce: 'nonce',
      audience: 'us',
    })
    expect(statusOutcome((await response.json()) as VerificationReport)).toMatch(/^failed: revoked/)
  })
})

describe('a list that was named is fetched again without a presentation', () => {
  async function startOwnWorld(): Promise<World> {
    const ownWorld = await startWorld({ outbound: network.outbound })
    onTestFinished(() => ownWorld.services.close())
    return ownWorld
  }

  async function passTime({ services }: World, seconds: number): Promise<void> {
    services.clock.now = new Date(services.clock.now.getTime() + seconds * 1000)
    await services.runTasks()
  }

  /** Names a list, which is then fetched again with one change and a revocation. Returns the outcome after that. */
  async function fetchAgain(ownWorld: World, change: (parts: ListParts) => unknown): Promise<string> {
    const uri = newListUri()
    const parts = tokenParts(ownWorld, uri, entries(IDX, 0))
    network.at.set(uri, await signList(parts))
    expect(await statusOfCredential(ownWorld, tokenAt(uri))).toMatch(/^passed/)
    Object.assign(parts.payload, { status_list: tokenParts(ownWorld, uri, entries(IDX, 1)).payload.status_list })
    await change(parts)
    network.at.set(uri, await signList(parts))
    await passTime(ownWorld, 0.96 * 3600)
    return statusOfCredential(ownWorld, tokenAt(uri))
  }

  it('within the same limits, and what it says counts from then on', async () => {
    const ownWorld = await startOwnWorld()
    expect(await fetchAgain(ownWorld, () => undefined)).toMatch(/^failed: revoked .* and kept since$/)
    expect(network.requests).toHaveLength(2)
    expect(network.requests[1]).toEqual(network.requests[0])
  })

  it.each<[string, (parts: ListParts) => unknown, string]>([
    [
      'is by another key of the same issuer',
      async (parts) => void Object.assign(parts, { key: await makeKey() }),
      'its signature is not by the key of the last one',
    ],
    [
      'has no certificates any more',
      ({ header }) => Reflect.deleteProperty(header, 'x5c'),
      'its certificates, its issuer',
    ],
    ['has ended', ({ payload }) => void Object.assign(payload, { exp: 1 }), 'it expired on 1970-01-01T00:00:01.000Z'],
    ['is another list', ({ payload }) => void Object.assign(payload, { sub: newListUri() }), 'its sub is not'],
    [
      'is an older one',
      ({ payload }) => void Object.assign(payload, { iat: Number(payload.iat) - 1 }),
      'it is older than the last one',
    ],
  ])('but takes no place where it %s', async (_, change, why) => {
    const ownWorld = await startOwnWorld()
    expect(await fetchAgain(ownWorld, change)).toMatch(/^passed: .* and kept since$/)
    expect(network.requests).toHaveLength(2)
    expect(ownWorld.services.logLines.join('')).toContain(why)
  })

  it('but takes no place where it has another purpose', async () => {
    const ownWorld = await startOwnWorld()
    const uri = newListUri()
    const parts = bitstringParts(ownWorld, uri, bitstring(IDX, false))
    network.at.set(uri, await signList(parts))
    const credentialStatus = bitstringEntryAt(uri)
    expect(await statusOfCredential(ownWorld, { credentialStatus })).toMatch(/^passed/)
    Object.assign(parts.payload.credentialSubject as JsonObject, { statusPurpose: 'suspension' })
    network.at.set(uri, await signList(parts))
    await passTime(ownWorld, 0.96 * 300)
    expect(network.requests).toHaveLength(2)
    expect(await statusOfCredential(ownWorld, { credentialStatus })).toMatch(/^passed: .* and kept since$/)
  })

  it('but takes no place once the certificate of its key has ended, so that a list with a new one does', async () => {
    const ownWorld = await startOwnWorld()
    const uri = newListUri()
    const parts = tokenParts(ownWorld, uri, entries(IDX, 0))
    parts.header.x5c = base64([certify(ownWorld.ca, ownWorld.issuerKey, { until: 0.5 / 24 })])
    network.at.set(uri, await signList(parts))
    expect(await statusOfCredential(ownWorld, tokenAt(uri))).toMatch(/^passed/)
    await passTime(ownWorld, 0.96 * 3600)
    expect(network.requests).toHaveLength(2)
    expect(ownWorld.services.logLines.join('')).toContain('the certificate of its key expired on')
    network.at.set(uri, await signList(tokenParts(ownWorld, uri, entries(IDX, 0))))
    await passTime(ownWorld, 0.04 * 3600)
    expect(await statusOfCredential(ownWorld, tokenAt(uri))).toMatch(/^passed: .*Z$/)
  })

  it('but never where it was not by a key that may sign it', async () => {
    const ownWorld = await startOwnWorld()
    const uri = newListUri()
    const parts = tokenParts(ownWorld, uri, entries(IDX, 0))
    network.at.set(uri, await signList({ ...parts, key: await makeKey() }))
    expect(await statusOfCredential(ownWorld, tokenAt(uri))).toMatch(/^failed: .* signature/)
    for (let hour = 0; hour < 3; hour += 1) await passTime(ownWorld, 3500)
    expect(network.requests).toHaveLength(1)
  })
})
