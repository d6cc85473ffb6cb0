/** The findings of `vouchsafe doctor` about the provider, the verifier and the application of a configuration. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Finding } from '../../src/bin/doctor/finding.ts'
import { openDatabase } from '../../src/bin/effects.ts'
import { toPem } from '../../src/keys/make-certificate.ts'
import { verifierMigrations } from '../../src/verifier/collections.ts'
import type { TrustListCollections } from '../../src/verifier/trust-list/stored.ts'
import { examine, itFinds, makeServiceFiles } from '../support/doctor.ts'
import { makeAuthority } from '../support/forge.ts'
import { freePort } from '../support/free-port.ts'
import { type ListChange, type ListSigner, makeListSigner, makeTrustList, PID_LIST } from '../support/trust-list.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

/** Starts a server for one test, and returns its origin. */
async function originOf(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const closedOrigin = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`

const withProvider = (issuer: string) => ({
  authentication: { openidConnect: { issuer, clientId: 'x', datasets: { card: { claims: { a: 'a' } } } } },
})
const withVerifier = (verifier: string) => ({
  authentication: {
    presentation: {
      ...{ verifier, apiKey: 'the-key', verificationQueryId: 'card' },
      datasets: { card: { claims: { a: ['card', 'a'] } } },
    },
  },
})
const withApplication = (origin: string) => ({
  sessionCallback: { url: `${origin}/events`, secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}` },
})

/** Answers as a provider whose metadata is below the path of its issuer. */
function provider(named: (origin: string) => string): RequestListener {
  return ({ url, headers }, response) => {
    if (url !== '/login/.well-known/openid-configuration') response.writeHead(404).end()
    else response.end(JSON.stringify({ issuer: named(`http://${headers.host}`) }))
  }
}

/** Answers as a verifier with one key and one query. */
const verifier: RequestListener = ({ url, headers }, response) => {
  const isKnown = headers.authorization === 'Bearer the-key'
  response.writeHead(!isKnown ? 401 : url === '/verification-query/card' ? 200 : 404).end('{}')
}

const ISSUER = 'authentication.openidConnect.issuer'
const PRESENTATION = 'authentication.presentation.'

describe('vouchsafe doctor asks the provider', () => {
  itFinds([
    [
      'and finds nothing wrong with its metadata',
      'issuer',
      async () => withProvider(`${await originOf(provider((origin) => `${origin}/login`))}/login`),
      ISSUER,
      'ok',
      /openid-configuration answers$/,
    ],
    [
      'that does not run',
      'issuer',
      async () => withProvider(await closedOrigin()),
      ISSUER,
      'warning',
      /gives no whole answer \(127\.0\.0\.1:\d+ takes no connections: .*\): nobody can sign in/,
    ],
    [
      'at a path where there is none',
      'issuer',
      async () => withProvider(`${await originOf(provider((origin) => `${origin}/login`))}/nope`),
      ISSUER,
      'warning',
      /answers 404: is this the issuer\?/,
    ],
    [
      'whose answer is larger than an issuer takes',
      'issuer',
      async () => withProvider(await originOf((_, response) => response.end(`{"a":"${'a'.repeat(1024 * 1024)}"}`))),
      ISSUER,
      'warning',
      /is larger than 1048576 bytes\): nobody can sign in/,
    ],
    [
      'that names another issuer',
      'issuer',
      async () => withProvider(`${await originOf(provider(() => 'https://login.example'))}/login`),
      ISSUER,
      'warning',
      /names the issuer https:\/\/login\.example; write that/,
    ],
  ])
})

describe('vouchsafe doctor asks the verifier that requests another credential', () => {
  itFinds([
    [
      'and finds the query',
      'issuer',
      async () => withVerifier(await originOf(verifier)),
      `${PRESENTATION}verifier`,
      'ok',
      /verification-query\/card answers$/,
    ],
    [
      'which refuses the key',
      'issuer',
      async () => withVerifier(await originOf((_, response) => response.writeHead(401).end())),
      `${PRESENTATION}apiKey`,
      'warning',
      /refuses it; write one of its integrations\.authentication/,
    ],
    [
      'which has no such query',
      'issuer',
      async () => withVerifier(await originOf((_, response) => response.writeHead(404).end())),
      `${PRESENTATION}verificationQueryId`,
      'warning',
      /has no query card; create it there/,
    ],
    [
      'which does not run',
      'issuer',
      async () => withVerifier(await closedOrigin()),
      `${PRESENTATION}verifier`,
      'warning',
      /gives no whole answer \(127\.0\.0\.1:\d+ takes no connections: .*\): nobody can sign in/,
    ],
  ])
})

describe('vouchsafe doctor fetches a trust list', () => {
  /** Asks about a list; `stored` changes the one that the verifier has of before, which is signed by `storedSigner`. */
  async function findingsFor(
    change?: ListChange,
    stored?: ListChange,
    storedSigner?: ListSigner,
  ): Promise<readonly Finding[]> {
    const signer = await makeListSigner()
    const provider = await makeAuthority('PID CA')
    // Both lists are of one time, since a list of an earlier second is older.
    const at = new Date()
    const text = await makeTrustList(signer, [provider.der], at, change)
    const serviceFiles = await makeServiceFiles('verifier')
    const signerTrustAnchors = join(serviceFiles.directory, 'conf/list-signers')
    mkdirSync(signerTrustAnchors)
    writeFileSync(join(signerTrustAnchors, 'operator.pem'), toPem(signer.der))
    const url = `${await originOf((_, response) => response.end(text))}/list.jwt`
    if (stored !== undefined) {
      const file = join(serviceFiles.directory, 'data/verifier.db')
      const store = await openDatabase<TrustListCollections>({ kind: 'sqlite', file }, verifierMigrations)
      const list = {
        text: await makeTrustList(storedSigner ?? signer, [provider.der], at, stored),
        ...{ fetchedAt: Date.now(), endsAt: Date.now() + 3_600_000 },
      }
      await store.commit([{ insert: 'trust_list', id: url, value: { list } }])
      await store.close()
    }
    const trustLists = [{ url, loteType: PID_LIST, signerTrustAnchors }]
    const findings = await examine({ ...serviceFiles, settings: { ...serviceFiles.settings, trustLists } })
    return findings.filter(({ subject }) => subject.startsWith('trustLists'))
  }

  it('and tells its number, its certificates and its end, and until when its signer is good', async () => {
    const anchors = 'trustLists[0].signerTrustAnchors'
    expect(await findingsFor()).toEqual([
      { subject: anchors, outcome: 'ok', text: expect.stringContaining('CN=Example scheme operator') as string },
      {
        subject: 'trustLists[0].url',
        outcome: 'ok',
        text: expect.stringMatching(/\/list\.jwt has list 7 with 1 certificate, which ends on 2/) as string,
      },
    ])
  })

  it.each<[string, ListChange, RegExp]>([
    [
      'that is another',
      ({ scheme }) => void Object.assign(scheme, { LoTEType: 'a' }),
      /gives no list: its LoTEType is a/,
    ],
    [
      'that has ended',
      ({ scheme }) => void Object.assign(scheme, { NextUpdate: '2020-01-01T00:00:00Z' }),
      /ends on 2020/,
    ],
  ])('and warns of one %s', async (_, change, text) => {
    const finding = (await findingsFor(change)).find(({ subject }) => subject === 'trustLists[0].url')
    expect(finding).toMatchObject({ outcome: 'warning', text: expect.stringMatching(text) as string })
  })

  const numbered =
    (LoTESequenceNumber: number): ListChange =>
    ({ scheme }) =>
      void Object.assign(scheme, { LoTESequenceNumber })
  const outcomeOf = (findings: readonly Finding[]) => findings.find(({ subject }) => subject === 'trustLists[0].url')

  it('and warns of one that is older than the one that the verifier has', async () => {
    expect(outcomeOf(await findingsFor(undefined, numbered(8)))).toMatchObject({
      outcome: 'warning',
      text: expect.stringMatching(/gives no list: .* is number 7, and number 8 was there before it/) as string,
    })
  })

  it('and takes one that is not older, or older than one that no signer of today signed', async () => {
    expect(outcomeOf(await findingsFor(numbered(8), numbered(8)))).toMatchObject({ outcome: 'ok' })
    const stranger = await makeListSigner('Stranger')
    expect(outcomeOf(await findingsFor(numbered(7), numbered(8), stranger))).toMatchObject({ outcome: 'ok' })
  })
})

describe('vouchsafe doctor asks the host of the application', () => {
  itFinds([
    [
      'which answers, whatever it answers',
      'verifier',
      async () => withApplication(await originOf((_, response) => response.writeHead(405).end())),
      'sessionCallback.url',
      'ok',
      /answers$/,
    ],
    [
      'which says the length of a large page',
      'verifier',
      async () =>
        withApplication(await originOf((_, response) => response.writeHead(200, { 'content-length': 1e9 }).end())),
      'sessionCallback.url',
      'ok',
      /answers$/,
    ],
    [
      'which does not run',
      'verifier',
      async () => withApplication(await closedOrigin()),
      'sessionCallback.url',
      'warning',
      /gives no whole answer \(127\.0\.0\.1:\d+ takes no connections: .*\): callbacks wait/,
    ],
  ])

  it('without the path of the callbacks, and waits no longer than a few seconds', async () => {
    const paths: unknown[] = []
    const origin = await originOf(({ method, url }) => void paths.push(`${method} ${url}`))
    const at = await makeServiceFiles('verifier')
    Object.assign(at.settings, withApplication(origin))
    const began = performance.now()
    const findings = await examine(at)
    expect(performance.now() - began).toBeLessThan(10_000)
    expect(paths).toEqual(['HEAD /'])
    expect(findings.filter(({ outcome }) => outcome === 'problem')).toEqual([])
    const text = expect.stringContaining('gave no whole answer within 3 s)') as string
    expect(findings).toContainEqual({ subject: 'sessionCallback.url', outcome: 'warning', text })
  })
})
