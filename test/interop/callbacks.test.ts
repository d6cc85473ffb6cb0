/** Callbacks, taken by a receiver of the Standard Webhooks' own package, over real connections. Interface section 5. */
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { createOutbound } from '../../src/bin/network/outbound.ts'
import { expectIssued, readySession } from '../support/issuance.ts'
import { type PostedCallback, startReceiver } from '../support/receiver.ts'
import { type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import {
  call,
  configuration,
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  startVerification,
  statusOf,
} from '../support/wire.ts'

const secret = randomBytes(32).toString('base64')
const outbound = createOutbound()
const HOUR = 3_600_000
/** So that the verifier asks nobody but the receiver. */
const withoutStatus = { ...configuration, revocable: false }

const open: Services[] = []
afterEach(async () => {
  for (const services of open.splice(0)) await services.close()
})

async function servicesWith(sessionCallback: object): Promise<Services> {
  const services = await startServices({ issuer: { sessionCallback }, verifier: { sessionCallback }, outbound })
  open.push(services)
  return services
}

/** Verifies by the package; throws when the signature does not hold. */
function verified({ body, headers }: PostedCallback, withSecret = secret): unknown {
  return new Webhook(withSecret).verify(body, headers as Record<string, string>)
}

/** Has the holder decline. */
async function declined(services: Services): Promise<string> {
  const { sessionId, request } = await startVerification(services)
  await postForm(services, request.response_uri, { error: 'access_denied', state: request.state })
  // So that no two events have the same time.
  services.clock.now = new Date(services.clock.now.getTime() + 1)
  return sessionId
}

describe('callbacks to a receiver that checks signatures', () => {
  it.each(['', 'whsec_'])('tell of an issuance, with a secret that begins with %j', async (prefix) => {
    const receiver = await startReceiver()
    const services = await servicesWith({ url: receiver.url, apiKey: 'its-key', secret: prefix + secret })
    const ready = await readySession(services)
    await expectIssued(ready)
    await services.runTasks()
    const [posted] = receiver.posted as readonly [PostedCallback]
    expect(receiver.posted).toHaveLength(1)
    expect(verified(posted, prefix + secret)).toEqual(posted.event)
    expect(posted.headers.authorization).toBe('Bearer its-key')
    expect(posted.headers['content-type']).toBe('application/json')
    expect(posted.event).toEqual({
      id: posted.headers['webhook-id'],
      type: 'issuance.succeeded',
      timestamp: services.clock.now.toISOString(),
      data: await statusOf(services, 'http://issuer.localhost', ready.sessionId),
    })
    expect(() => verified(posted, randomBytes(32).toString('base64'))).toThrow(WebhookVerificationError)
    expect(() => verified({ ...posted, body: posted.body.replace('SUCCEEDED', 'EXPIRED') })).toThrow()
    const log = services.logLines.join('')
    expect(['its-key', secret.slice(0, 10), ready.sessionId].filter((text) => log.includes(text))).toEqual([])
  })

  it('tell of a verification what its status says, and keep none of it', async () => {
    let well = false
    const receiver = await startReceiver((_posted, response) => response.writeHead(well ? 200 : 503).end())
    const services = await servicesWith({ url: receiver.url, secret })
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder, withoutStatus)
    const { sessionId, request } = await startVerification(services)
    const presentation = await presentationOf(credential, holder, request, { now: services.clock.now })
    await postForm(services, request.response_uri, {
      vp_token: JSON.stringify({ card: [presentation] }),
      state: request.state,
    })
    await services.runTasks()
    const { verifierStore } = services
    const collections = ['event', 'callback', 'dead_callback', 'audit_block'] as const
    const stored = JSON.stringify(await Promise.all(collections.map((name) => verifierStore.list(name))))
    expect(stored.match(/verification\.succeeded/g)).toHaveLength(2)
    expect(stored).not.toContain('"Ada')
    well = true
    services.clock.now = new Date(services.clock.now.getTime() + 10_000)
    await services.runTasks()
    const of = receiver.posted.filter(({ event }) => event.data.session_id === sessionId)
    const status = ['verification.succeeded', await statusOf(services, VERIFIER_URL, sessionId)]
    expect(of.map(({ event }) => [event.type, event.data])).toEqual([status, status])
    expect(of[1]?.body).toContain('Ada')
    for (const each of of) expect(verified(each)).toEqual(each.event)
  })

  it('tell of a verification that failed, and never that it succeeded', async () => {
    const receiver = await startReceiver()
    const services = await servicesWith({ url: receiver.url, secret })
    const holder = await holderSigner()
    const credential = await issueCredential(services, await holderSigner(), withoutStatus)
    const { sessionId, request } = await startVerification(services)
    // Signed by a key that the credential is not bound to.
    const presentation = await presentationOf(credential, holder, request, { now: services.clock.now })
    await postForm(services, request.response_uri, {
      vp_token: JSON.stringify({ card: [presentation] }),
      state: request.state,
    })
    await services.runTasks()
    const of = receiver.posted.filter(({ event }) => event.data.session_id === sessionId)
    expect(of.map(({ event }) => [event.type, event.data.status])).toEqual([
      ['verification.failed', 'VERIFICATION_FAILED'],
    ])
  })

  it('leave out the result that is for whoever brings the response code', async () => {
    const receiver = await startReceiver()
    const services = await servicesWith({ url: receiver.url, secret })
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder, withoutStatus)
    const { sessionId, request } = await startVerification(services, undefined, {
      redirect_uri: 'https://shop.example',
    })
    const presentation = await presentationOf(credential, holder, request, { now: services.clock.now })
    await postForm(services, request.response_uri, {
      vp_token: JSON.stringify({ card: [presentation] }),
      state: request.state,
    })
    await services.runTasks()
    const of = receiver.posted.filter(({ event }) => event.data.session_id === sessionId)
    expect(of.map(({ event }) => event.type)).toEqual(['verification.succeeded'])
    expect(of[0]?.event.data).not.toHaveProperty('result')
    expect(of[0]?.body).not.toMatch(/\bAda\b|response_code/)
  })

  it('tell of nothing else', async () => {
    const receiver = await startReceiver()
    const services = await servicesWith({ url: receiver.url, secret })
    await call(services, `${VERIFIER_URL}/verification-query/create`, { dcql_query: { credentials: [] } })
    await startVerification(services)
    await readySession(services)
    await services.runTasks()
    expect(receiver.posted).toEqual([])
  })
})

describe('a receiver in trouble', () => {
  it.each<[trouble: string, answer: (response: ServerResponse, url: string) => void, problem: RegExp]>([
    ['answers 500', (response) => response.writeHead(500).end('no'), /answered 500/],
    ['redirects, as to itself', (response, location) => response.writeHead(308, { location }).end(), /answered 308/],
    ['closes the connection', (response) => response.destroy(), /./],
    ['answers without end', (response) => response.writeHead(200).end('x'.repeat(200_000)), /larger than 65536 bytes/],
  ])(
    'that %s gets everything again, in order and signed anew, under the same ids',
    async (_trouble, answer, problem) => {
      let well = false
      const receiver = await startReceiver((_posted, response) => {
        if (well) response.writeHead(200).end('ok')
        else answer(response, receiver.url)
      })
      const services = await servicesWith({ url: receiver.url, secret })
      const sessions = [await declined(services), await declined(services)]
      await services.runTasks()
      const first = receiver.posted.map(({ event }) => event.id)
      expect(new Set(first).size).toBe(2)
      const rows = await services.verifierStore.list('callback')
      expect(rows.map(({ value }) => value.problem)).toEqual([
        expect.stringMatching(problem),
        expect.stringMatching(problem),
      ])
      well = true
      services.clock.now = new Date(services.clock.now.getTime() + HOUR)
      await services.runTasks()
      const second = receiver.posted.slice(first.length)
      expect(second.map(({ event }) => event.id).sort()).toEqual([...new Set(first)].sort())
      expect(second.map(({ event }) => event.data.session_id).sort()).toEqual(sessions.sort())
      expect(await services.verifierStore.list('callback')).toEqual([])
      // Each attempt has its own time, and a receiver takes none that is old.
      expect(second[0]?.headers['webhook-timestamp']).toBe(String(Math.floor(services.clock.now.getTime() / 1000)))
      expect(second[0]?.headers['webhook-signature']).not.toBe(receiver.posted[0]?.headers['webhook-signature'])
    },
  )

  it('that is not there is tried again later', async () => {
    // A port that nobody has.
    const services = await servicesWith({ url: 'http://127.0.0.1:9/events', secret })
    await declined(services)
    await services.runTasks()
    expect((await services.verifierStore.list('callback'))[0]?.value).toMatchObject({
      failures: 1,
      claimed: false,
      problem: expect.stringMatching(/127\.0\.0\.1:9/) as string,
    })
  })

  it('that never answers is left after ten seconds', async () => {
    const receiver = await startReceiver(() => undefined)
    const services = await servicesWith({ url: receiver.url, secret })
    await declined(services)
    await services.runTasks()
    expect((await services.verifierStore.list('callback'))[0]?.value.problem).toMatch(/within 10 s/)
  })
})
