/**
 * Attacks by whoever stands between a verifier and its trust lists, by the host of a list, and by an issuer that a list
 * names for something else.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createOutbound } from '../../src/bin/network/outbound.ts'
import type { JsonObject } from '../../src/codec/json.ts'
import { OutboundError } from '../../src/http/outbound.ts'
import { type VerifierCollections, verifierMigrations } from '../../src/verifier/collections.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { makeNetwork } from '../support/foreign-status.ts'
import { certify, makeForgery, putTogether, startWorld, type World, type WorldOptions } from '../support/forge.ts'
import { partOfLimit } from '../support/processor-time.ts'
import { profiles, queryFor } from '../support/profiles.ts'
import { makeKey, type Services, VERIFIER_URL } from '../support/services.ts'
import { testDatabase } from '../support/store.ts'
import {
  LIST_URL,
  type ListChange,
  type ListSigner,
  listSettings,
  makeListSigner,
  makeTrustList,
  serviceOf,
} from '../support/trust-list.ts'
import { call, configuration, issueCredential, postForm, startVerification, statusOf } from '../support/wire.ts'

const HOUR = 3_600_000
const network = makeNetwork()
let world: World
let signer: ListSigner
afterEach(async () => {
  network.at.clear()
  network.requests.length = 0
  await world.services.close()
})

/** Starts a verifier with the list alone, which has the CA of the issuer. */
async function startWithList(listed: object = {}, more: WorldOptions = {}): Promise<void> {
  signer = await makeListSigner()
  world = await startWorld({ outbound: network.outbound, ...listSettings(signer, listed), ...more })
  await publish()
}

/** Publishes the list with the CA of the issuer, but for what `change` does to it. */
async function publish(change?: ListChange): Promise<void> {
  publishText(await textWith(change))
}

function textWith(change?: ListChange): Promise<string> {
  return makeTrustList(signer, [world.ca.der], world.services.clock.now, change)
}

function publishText(text: string, status = 200): void {
  network.at.set(LIST_URL, { status, headers: {}, body: Buffer.from(text) })
}

/** Lets the time pass, runs the tasks, and lets the rows of the lists be read anew. */
async function wait(ms = HOUR): Promise<void> {
  const { clock } = world.services
  clock.now = new Date(clock.now.getTime() + ms)
  await world.services.runTasks()
  clock.now = new Date(clock.now.getTime() + 5000)
}

async function present(query: JsonObject = queryFor(world.profile), claims: object = {}): Promise<VerificationReport> {
  const { services } = world
  const { sessionId, request } = await startVerification(services, { credentials: [query] })
  const forgery = await makeForgery(world, request)
  Reflect.deleteProperty(forgery.payload, 'status')
  Object.assign(forgery.payload, claims)
  const vp_token = JSON.stringify({ card: [await putTogether(forgery)] })
  await postForm(services, request.response_uri, { vp_token, state: request.state })
  return ((await statusOf(services, VERIFIER_URL, sessionId)) as unknown as { result: VerificationReport }).result
}

async function trusted(...asked: Parameters<typeof present>): Promise<string> {
  const { credentials } = await present(...asked)
  const check = credentials.card?.[0]?.checks.find(({ id }) => id === 'issuer.trusted')
  return `${check?.outcome}: ${check?.detail}`
}

async function listed(services: Services = world.services): Promise<Record<string, unknown>> {
  const { trust_lists: lists } = (await (await call(services, `${VERIFIER_URL}/trust-anchors`)).json()) as {
    trust_lists: Record<string, unknown>[]
  }
  return lists[0] ?? {}
}

describe('a list', () => {
  it('makes its issuers trusted, and the report names it', async () => {
    await startWithList()
    expect(await trusted()).toMatch(
      /^failed: '.* The trust list https:\/\/lists\.example\.eu\/\S+ does not count: it was not fetched yet\. To trust/,
    )
    await wait(0)
    const { verified, trust, credentials } = await present()
    expect({ verified, trust }).toEqual({ verified: true, trust: 'anchors' })
    expect(credentials.card?.[0]?.issuer_certificate?.anchor).toMatchObject({
      subject: 'CN=Example CA',
      trust_list: LIST_URL,
    })
    expect(await listed()).toMatchObject({ url: LIST_URL, sequence_number: 7, certificates: 1 })
    expect(network.requests).toMatchObject([{ url: LIST_URL, maxBytes: 8 * 1024 * 1024, timeoutMs: 10_000 }])
  })

  it('is fetched with no private address but where status lists may have one', async () => {
    await startWithList(
      {},
      { verifier: { ...listSettings(await makeListSigner()).verifier, status: { allowPrivateAddresses: false } } },
    )
    await wait(0)
    expect(network.requests).toMatchObject([{ allowPrivateAddresses: false }])
  })

  it.each<[string, () => void | Promise<void>, RegExp]>([
    [
      'another key signed it',
      () => publish(async (parts) => void Object.assign(parts, { key: await makeKey() })),
      /its signature does not hold/,
    ],
    [
      'another operator signed it with its own certificate',
      async () => {
        const { key, der } = await makeListSigner('Stranger')
        await publish((parts) => {
          Object.assign(parts, { key })
          Object.assign(parts.header, { x5c: [der.toString('base64')] })
          Reflect.deleteProperty(parts.header, 'x5t#S256')
        })
      },
      /its signer is not one of signerTrustAnchors/,
    ],
    ['nobody signed it', () => publish(({ header }) => void Object.assign(header, { alg: 'none' })), /is none/],
    [
      'it is signed with a secret',
      () => publish(({ header }) => void Object.assign(header, { alg: 'HS256' })),
      /is HS256/,
    ],
    [
      'it is that of wallet providers',
      () =>
        publish(
          ({ scheme }) =>
            void Object.assign(scheme, { LoTEType: 'http://uri.etsi.org/19602/LoTEType/EUWalletProvidersList' }),
        ),
      /its LoTEType is .*EUWalletProvidersList/,
    ],
    [
      'it has ended',
      () => publish(({ scheme }) => void Object.assign(scheme, { NextUpdate: '2020-01-01T00:00:00Z' })),
      /ended on 2020-01-01/,
    ],
    ['it is the page of a login', () => publishText('<html>'), /three parts/],
    ['its host sends it elsewhere', () => publishText('', 302), /lists\.example\.eu answered 302/],
    [
      'it is too large',
      () =>
        void network.at.set(LIST_URL, () =>
          Promise.reject(new OutboundError('the answer of lists.example.eu is larger than 8388608 bytes', 'size')),
        ),
      /is larger than 8388608 bytes/,
    ],
    [
      'it never ends',
      () =>
        void network.at.set(LIST_URL, () =>
          Promise.reject(new OutboundError('lists.example.eu gave no whole answer within 10 s', 'time')),
        ),
      /no whole answer within 10 s/,
    ],
    ['it is gone', () => void network.at.delete(LIST_URL), /takes no connections/],
  ])(
    'that is not one makes nobody trusted, and takes nothing from the last good one: %s',
    async (_, attack, problem) => {
      await startWithList()
      await attack()
      await wait(0)
      expect(await trusted()).toMatch(/^failed: '.* The trust list https:\S+ does not count: /)
      expect((await listed()).problem).toMatch(problem)
      expect(world.services.logLines.join('')).toContain('"event":"trust_list_missing"')

      await publish()
      await wait()
      expect(await trusted()).toMatch(/^passed/)
      await attack()
      await wait()
      expect(await trusted()).toMatch(/^passed/)
      expect((await listed()).problem).toMatch(problem)
      expect(world.services.logLines.join('')).toContain('"event":"trust_list_not_fetched"')

      // Until the good one has ended; then nobody is trusted by it.
      await wait(26 * HOUR)
      expect(await trusted()).toMatch(
        /^failed: '.* The trust list https:\S+ does not count: it ended on .* \(NextUpdate\); /,
      )
      expect((await listed()).problem).toMatch(/it ended on/)
    },
  )

  it('that ends soon is fetched again at half of its time', async () => {
    await startWithList()
    const NextUpdate = new Date(world.services.clock.now.getTime() + HOUR).toISOString()
    await publish(({ scheme }) => void Object.assign(scheme, { NextUpdate }))
    await wait(0)
    await wait(HOUR / 2 - 10_000)
    expect(network.requests).toHaveLength(1)
    await wait(0)
    expect(network.requests).toHaveLength(2)
  })

  it('is neither stored nor logged again while a fetch gives the same, or fails as the one before it', async () => {
    await startWithList()
    const { verifierStore: store, logLines } = world.services
    for (const prepare of [() => undefined, () => network.at.delete(LIST_URL)]) {
      prepare()
      await wait()
      const readRows = () => Promise.all([store.get('trust_list', LIST_URL), store.get('trust_list_state', LIST_URL)])
      const rows = await readRows()
      await wait()
      expect(await readRows()).toEqual(rows)
    }
    expect(network.requests).toHaveLength(4)
    await wait(26 * HOUR)
    const events = [...logLines.join('').matchAll(/"event":"(trust_list_\w+)"/g)].map(([, event]) => event)
    expect(events).toEqual(['trust_list_fetched', 'trust_list_not_fetched', 'trust_list_missing'])
  })

  it('is not fetched every second while something else fails than its host', async () => {
    await startWithList()
    network.at.set(LIST_URL, () => Promise.reject(new Error('the database is away')))
    await expect(wait(0)).rejects.toThrow('the database is away')
    await wait(1000)
    expect(network.requests).toHaveLength(1)
    await publish()
    await wait(60_000)
    expect(await listed()).toMatchObject({ certificates: 1 })
  })

  it('may end with a line break, as a file does', async () => {
    await startWithList()
    publishText(`${await textWith()}\n`)
    await wait(0)
    expect(await trusted()).toMatch(/^passed/)
  })

  it('that is older than one before it does not come back', async () => {
    await startWithList()
    const older = network.at.get(LIST_URL)
    // The new one has no issuer any more.
    await publish(({ scheme, services }) => {
      Object.assign(scheme, { LoTESequenceNumber: 8 })
      services.splice(0)
    })
    await wait(0)
    expect(await trusted()).toMatch(/^failed/)
    if (older !== undefined) network.at.set(LIST_URL, older)
    await wait()
    expect(await trusted()).toMatch(/^failed/)
    expect((await listed()).problem).toMatch(/is number 7, and number 8 was there before it/)
  })

  it('counts after a restart of a service that cannot fetch it, and none that is older does', async () => {
    const openStore = testDatabase<VerifierCollections>(verifierMigrations)
    await startWithList({}, { verifierStore: await openStore() })
    await wait(0)
    const older = await textWith(({ scheme }) => void Object.assign(scheme, { LoTESequenceNumber: 6 }))
    await world.services.close()

    network.at.delete(LIST_URL)
    world = await startWorld({ outbound: network.outbound, ...listSettings(signer), verifierStore: await openStore() })
    await wait(0)
    expect(await listed()).toMatchObject({
      ...{ sequence_number: 7, certificates: 1 },
      problem: expect.stringMatching(/takes no connections/) as string,
    })
    publishText(older)
    await wait()
    expect(await listed()).toMatchObject({
      sequence_number: 7,
      problem: expect.stringMatching(/is number 6, and number 7 was there before/) as string,
    })
  })

  it('of the same number is taken where it is newer, and not where it is older', async () => {
    await startWithList()
    const first = network.at.get(LIST_URL)
    await wait(0)
    await publish(({ services }) => void services.splice(0))
    await wait()
    expect(await trusted()).toMatch(/^failed: '/)
    if (first !== undefined) network.at.set(LIST_URL, first)
    await wait()
    expect(await trusted()).toMatch(/^failed: '/)
    expect((await listed()).problem).toMatch(/was there before it \(ListIssueDateTime\)/)
  })

  it('in which the issuer is withdrawn makes it trusted no longer', async () => {
    await startWithList()
    await wait(0)
    expect(await trusted()).toMatch(/^passed/)
    await publish(({ services }) => {
      const ServiceStatus = 'http://uri.etsi.org/19602/PubEAAProvidersList/SvcStatus/withdrawn'
      services.splice(0, 1, serviceOf([world.ca.der], { ServiceStatus }))
    })
    await wait()
    expect(await trusted()).toMatch(/^failed: 'CN=issuer\.localhost'/)
  })

  it('is fetched as before where the clock was ahead and is set back', async () => {
    await startWithList()
    const { clock } = world.services
    const { now } = clock
    clock.now = new Date(now.getTime() + 12 * HOUR)
    await wait(0)
    clock.now = now
    await publish(({ scheme, services }) => {
      Object.assign(scheme, { LoTESequenceNumber: 8 })
      services.splice(0)
    })
    await wait(0)
    expect(await listed()).toMatchObject({ sequence_number: 8 })
    expect(network.requests).toHaveLength(2)
  })

  it('whose text stays the same makes an issuer trusted when its service begins', async () => {
    await startWithList()
    const { clock } = world.services
    const StatusStartingTime = new Date(clock.now.getTime() + 2 * HOUR).toISOString()
    await publish(({ services }) => void services.splice(0, 1, serviceOf([world.ca.der], { StatusStartingTime })))
    await wait(0)
    expect(await trusted()).toMatch(/^failed: '/)
    await wait()
    expect(await trusted()).toMatch(/^failed: '/)
    await wait()
    expect(await trusted()).toMatch(/^passed/)
  })

  it('is verified again when it is read: a row that was changed counts for nothing', async () => {
    await startWithList()
    await wait(0)
    const { verifierStore: store } = world.services
    const row = await store.get('trust_list', LIST_URL)
    const state = await store.get('trust_list_state', LIST_URL)
    if (row?.value.list === undefined || state?.value.list === undefined) throw new Error('no row')
    const { list } = row.value
    const text = list.text.replace(/\.[^.]*\./, `.${Buffer.from('{"LoTE":{}}').toString('base64url')}.`)
    const { version } = row
    const stateValue = { list: { ...state.value.list, version: version + 1 } }
    await store.commit([
      { update: 'trust_list', id: LIST_URL, version, value: { list: { ...list, text } } },
      { update: 'trust_list_state', id: LIST_URL, version: state.version, value: stateValue },
    ])
    world.services.clock.now = new Date(world.services.clock.now.getTime() + 5000)
    expect(await trusted()).toMatch(/^failed: '.* The trust list \S+ does not count: its signature does not hold/)
  })
})

describe('an issuer that a list names for one type of credential', () => {
  const [, , card] = profiles
  if (card === undefined) throw new Error('no profile')
  const asking = (...vct_values: string[]) => ({ ...queryFor(card), meta: { vct_values } })
  const CARD = 'urn:example:student-card'
  const PID = 'urn:eudi:pid:1'

  async function startFor(credentialTypes: readonly string[]): Promise<void> {
    await startWithList({ credentialTypes })
    const credential = await issueCredential(world.services, world.holder, card?.configuration)
    world = { ...world, profile: card ?? world.profile, credential }
    await wait(0)
  }

  it('is trusted for that type', async () => {
    await startFor([CARD])
    expect(await trusted(asking(CARD))).toMatch(/^passed/)
    expect(await trusted(asking(CARD, PID))).toMatch(/^passed/)
    expect(await trusted({ ...queryFor(card), meta: {} })).toMatch(/^passed/)
  })

  it('is not trusted for another', async () => {
    await startFor([PID])
    expect(await trusted(asking(CARD))).toMatch(/ does not count: it is for other types of credentials\. To trust/)
    expect(await trusted(asking(CARD, PID))).toMatch(/^failed/)
    expect(await trusted({ ...queryFor(card), meta: {} })).toMatch(/^failed/)
  })

  it('does not become trusted for another by naming the first beside it', async () => {
    await startFor([PID])
    const both = { aka_vcts: [PID] }
    // The general type is asked for, and the list is for it.
    expect(await trusted(asking(PID), both)).toMatch(/^passed/)
    // The diploma is asked for, and the list is not.
    expect(await trusted(asking(CARD), both)).toMatch(/^failed/)
    expect(await trusted(asking(CARD, PID), both)).toMatch(/^failed/)
    expect(await trusted({ ...queryFor(card), meta: {} }, both)).toMatch(/^failed/)
  })
})

it('an issuer that names two types of the W3C is trusted for those that are asked for, where the list has all', async () => {
  await startWithList({ credentialTypes: ['StudentCard'] })
  await wait(0)
  const asking = (...types: string[][]) => ({ ...queryFor(world.profile), meta: { type_values: types } })
  expect(await trusted(asking(['VerifiableCredential', 'StudentCard']))).toMatch(/^passed/)
  const both = { type: ['VerifiableCredential', 'Diploma', 'StudentCard'] }
  expect(await trusted(asking(['Diploma']), both)).toMatch(/^failed/)
  expect(await trusted(asking(['StudentCard'], ['Diploma']), both)).toMatch(/^failed/)
  expect(await trusted(asking(['VerifiableCredential']), both)).toMatch(/^failed/)
  const none = { type: ['VerifiableCredential'] }
  expect(await trusted(asking(['VerifiableCredential']), none)).toMatch(/^failed/)
  expect(configuration.format).toBe(world.profile.format)
})

describe('a query for a list (etsi_tl)', () => {
  const asking = (...values: string[]) => ({
    ...queryFor(world.profile),
    trusted_authorities: [{ type: 'etsi_tl', values }],
  })
  const outcome = ({ credentials }: VerificationReport): string | undefined =>
    credentials.card?.[0]?.checks.find(({ id }) => id === 'query.trusted_authorities')?.outcome

  it('is answered by an issuer of that list alone', async () => {
    await startWithList()
    await wait(0)
    expect(outcome(await present(asking(LIST_URL)))).toBe('passed')
  })

  it('is not answered by an issuer of the directory', async () => {
    const { files, verifier } = listSettings(await makeListSigner())
    await startWithList({}, { files, verifier: { ...verifier, issuerTrustAnchors: 'anchors' } })
    await wait(0)
    // The list is of another signer, and has nobody.
    const report = await present(asking(LIST_URL))
    expect([report.verified, outcome(report)]).toEqual([false, 'failed'])
  })

  it('is not answered in a dry run, which says why', async () => {
    await startWithList()
    const body = { dcql_query: { credentials: [asking(LIST_URL)] }, credentials: [world.credential] }
    const response = await call(world.services, `${VERIFIER_URL}/verification-query/simulate`, body)
    expect(await response.json()).toMatchObject({
      satisfied: false,
      credential_queries: {
        card: { others: [{ reason: expect.stringMatching(/; a dry run does not look at trust lists$/) as string }] },
      },
    })
  })

  it('is refused for a list that the verifier does not have', async () => {
    await startWithList()
    const other = { dcql_query: { credentials: [asking(LIST_URL, 'https://lotl.example.com')] } }
    const response = await call(world.services, `${VERIFIER_URL}/verification-query/create`, other)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error_description: expect.stringMatching(
        /trusted_authorities\[0\]\.values\[1\]: is not the url of one of trustLists/,
      ) as string,
    })
  })
})

it('a chain is tested against the lists too', async () => {
  await startWithList()
  await wait(0)
  const pem = world.services.files.get('issuer.pem') ?? ''
  const response = await call(world.services, `${VERIFIER_URL}/trust-anchors/test`, { certificates: pem })
  expect(await response.json()).toMatchObject({ trusted: true, trust: 'anchors', trust_list: LIST_URL })
})

it('a list that has no end is read to its limit, and then no further', async () => {
  let sentBytes = 0
  const server = createServer((_, response) => {
    const send = (): void => {
      while (response.write(Buffer.alloc(65_536, 0x41))) sentBytes += 65_536
    }
    response.on('drain', send)
    send()
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const listedThere = { url: `http://127.0.0.1:${port}/list.jwt` }
  signer = await makeListSigner()
  world = await startWorld({ outbound: createOutbound(), ...listSettings(signer, listedThere) })
  await wait(0)
  expect((await listed()).problem).toMatch(/is larger than 8388608 bytes$/)
  expect(sentBytes).toBeLessThan(64 * 1024 * 1024)
  server.closeAllConnections()
  server.close()
})

it('a list of thousands of certificates is read once, and not by each verification', async () => {
  await startWithList()
  const key = await makeKey()
  const others = Array.from({ length: 2000 }, (_, n) =>
    certify({ name: world.ca.name, key }, key, { dnsNames: [`${n}.example`] }),
  )
  await publish(({ services }) => void services.push(serviceOf(others)))
  await wait(0)
  expect(await trusted()).toMatch(/^passed/)
  expect((await listed()).certificates).toBe(2001)
  const verifyFiveTimes = async (): Promise<void> => {
    for (let times = 0; times < 5; times += 1) expect(await trusted()).toMatch(/^passed/)
  }
  expect(await partOfLimit(1000, verifyFiveTimes)).toBeLessThan(1)
})
