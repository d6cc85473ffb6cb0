/** Tests that sessions are followed: over sockets to real services, and over a server whose bytes the test chooses. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { listen } from '../../test/support/event-stream.ts'
import { readySession, request } from '../../test/support/issuance.ts'
import { API_KEY, type Services, startServices } from '../../test/support/services.ts'
import {
  dcqlQuery,
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  startIssuance,
  startVerification,
} from '../../test/support/wire.ts'
import { createIssuerClient, createVerifierClient, ServiceError } from './index.ts'
import { createWatchSession } from './watch-session.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Answers as a busy service does, which asks to come back after some seconds. */
function refuseBusy(response: ServerResponse, retryAfter: string): void {
  response
    .writeHead(503, { 'content-type': 'application/json', 'retry-after': retryAfter })
    .end('{"error":"temporarily_unavailable","error_description":"busy"}')
}

async function started(): Promise<Services> {
  const services = await startServices()
  closing.push(() => services.close())
  return services
}

async function presented(services: Services, redirectUri?: string) {
  const { sessionId, request: asked } = await startVerification(
    services,
    dcqlQuery,
    redirectUri === undefined ? {} : { redirect_uri: redirectUri },
  )
  const present = async () => {
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder)
    const presentation = await presentationOf(credential, holder, asked, { now: services.clock.now })
    const form = { vp_token: JSON.stringify({ card: [presentation] }), state: asked.state }
    return (await (await postForm(services, asked.response_uri, form)).json()) as { redirect_uri?: string }
  }
  return { sessionId, present }
}

describe('a session that is watched', () => {
  it('of an issuer is yielded as it is and at each change, until the loop is left', async () => {
    const services = await started()
    const client = createIssuerClient({ url: await listen(services.issuer), apiKey: API_KEY })
    const ready = await readySession(services)
    const statuses: unknown[] = []
    for await (const { status, credentials } of client.watchSession(ready.sessionId)) {
      statuses.push([status, credentials[0]?.credential_status])
      if (statuses.length === 1) await request(ready)
      if (statuses.length === 2) await client.revoke(ready.sessionId)
      if (statuses.length === 3) break
    }
    expect(statuses).toEqual([
      ['STARTED', undefined],
      ['SUCCEEDED', 'VALID'],
      ['SUCCEEDED', 'REVOKED'],
    ])
  })

  it('of an issuer ends with EXPIRED', async () => {
    const services = await started()
    const client = createIssuerClient({ url: await listen(services.issuer), apiKey: API_KEY })
    const { sessionId } = await startIssuance(services, { expires_in: 5 })
    const statuses: string[] = []
    for await (const { status } of client.watchSession(sessionId)) {
      statuses.push(status)
      services.clock.now = new Date(services.clock.now.getTime() + 6000)
    }
    expect(statuses).toEqual(['STARTED', 'EXPIRED'])
  })

  it('of a verifier ends with its result', async () => {
    const services = await started()
    const client = createVerifierClient({ url: await listen(services.verifier), apiKey: API_KEY })
    const { sessionId, present } = await presented(services)
    const seen: unknown[] = []
    for await (const { status, result } of client.watchSession(sessionId)) {
      seen.push([status, result?.verified])
      if (seen.length === 1) await present()
    }
    expect(seen).toEqual([
      ['STARTED', undefined],
      ['VERIFICATION_SUCCEEDED', true],
    ])
  })

  it('of a verifier ends with what a wallet said, without characters that turn a line', async () => {
    const services = await started()
    const client = createVerifierClient({ url: await listen(services.verifier), apiKey: API_KEY })
    const { sessionId, request: asked } = await startVerification(services)
    const words = 'no\u2028thanks\u2029'
    const seen: unknown[] = []
    for await (const { status, wallet_error: error } of client.watchSession(sessionId)) {
      seen.push([status, error?.error_description])
      if (seen.length > 1) continue
      const form = { error: 'access_denied', error_description: words, state: asked.state }
      expect((await postForm(services, asked.response_uri, form)).status).toBe(200)
    }
    expect(seen).toEqual([
      ['STARTED', undefined],
      ['DECLINED', 'no\ufffdthanks\ufffd'],
    ])
  })

  it('with a redirect_uri has its result by the response code alone', async () => {
    const services = await started()
    const client = createVerifierClient({ url: await listen(services.verifier), apiKey: API_KEY })
    const { sessionId, present } = await presented(services, 'https://shop.example/done')
    const { redirect_uri: uri = '' } = await present()
    const responseCode = new URL(uri).searchParams.get('response_code') ?? ''
    for await (const session of client.watchSession(sessionId)) expect(session).not.toHaveProperty('result')
    for await (const session of client.watchSession(sessionId, { responseCode })) {
      expect(session.result?.verified).toBe(true)
    }
  })

  it('ends with the reason of its signal, and with the refusal of the service', async () => {
    const services = await started()
    const url = await listen(services.issuer)
    const client = createIssuerClient({ url, apiKey: API_KEY })
    const { sessionId } = await startIssuance(services)
    const controller = new AbortController()
    const watch = client.watchSession(sessionId, { signal: controller.signal })
    expect(await watch.next()).toMatchObject({ value: { status: 'STARTED' } })
    const next = watch.next()
    controller.abort(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
    await expect(client.watchSession('unknown').next()).rejects.toMatchObject({ code: 'not_found', status: 404 })
    const wrong = createIssuerClient({ url, apiKey: 'a-wrong-key' })
    const error: unknown = await wrong
      .watchSession(sessionId)
      .next()
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'unauthorized', status: 401 })
    expect(String((error as Error).stack)).not.toContain('a-wrong-key')
  })

  it('goes on after a restart of the service', { timeout: 600_000 }, async () => {
    const services = await started()
    const url = await listen(services.issuer)
    const client = createIssuerClient({ url, apiKey: API_KEY })
    const { sessionId } = await startIssuance(services, { expires_in: 60 })
    const watch = client.watchSession(sessionId)
    await watch.next()
    const next = watch.next()
    await services.issuer.close()
    const after = await startServices({ issuerStore: services.issuerStore })
    closing.unshift(async () => {
      await Promise.all([after.issuer.close(), after.verifier.close()])
      await after.verifierStore.close()
    })
    after.clock.now = new Date(services.clock.now.getTime() + 61_000)
    await after.issuer.listen({ port: Number(new URL(url).port), host: '127.0.0.1' })
    expect(await next).toMatchObject({ value: { status: 'EXPIRED' } })
    expect((await watch.next()).done).toBe(true)
  })
})

describe('a stream', () => {
  /** Starts a server that gives the answers in turn. */
  function scripted(...answers: ((response: ServerResponse) => unknown)[]) {
    let calls = 0
    const server: Server = createServer((_, response) => {
      const answer = answers[calls]
      calls += 1
      if (answer === undefined) response.destroy()
      else answer(response)
    }).listen(0)
    closing.push(() => {
      server.close()
      server.closeAllConnections()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return { url, calls: () => calls }
  }
  const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })
  const event = (value: unknown) => `event: status\ndata: ${JSON.stringify(value)}\n\n`
  const END = 'event: end\ndata: {}\n\n'
  const QUICK = 'retry: 10\n\n'

  async function all(url: string, timeoutMilliseconds = 5000, idleMilliseconds = 45_000): Promise<unknown[]> {
    const watch = createWatchSession({ url, apiKey: API_KEY, timeoutMilliseconds }, '/', idleMilliseconds)
    const seen: unknown[] = []
    for await (const status of watch('a session')) seen.push(status)
    return seen
  }

  it('is read however its bytes are cut, with what else the format allows', async () => {
    const bytes = Buffer.from(
      `: a comment\nid: 7\n${QUICK}event:status\r\ndata: {"a":\r\ndata: "Größe 😀\u2028\u2029"}\r\n\r\nevent: other\ndata: 1\n\n${event(2)}event: status\rdata: 3\r\r${END}`,
    )
    const { url } = scripted((response) => {
      stream(response)
      const send = (at: number): void => {
        if (at < bytes.length) response.write(bytes.subarray(at, at + 1), () => setImmediate(send, at + 1))
        else response.end()
      }
      send(0)
    })
    expect(await all(url)).toEqual([{ a: 'Größe 😀\u2028\u2029' }, 2, 3])
  })

  it('is opened again when it breaks or the service is busy, and repeats nothing', async () => {
    const { url, calls } = scripted(
      (response) => stream(response).end(`${QUICK}${event(1)}`),
      (response) => response.destroy(),
      (response) => refuseBusy(response, '1'),
      (response) => stream(response).write(`${event(1)}${event(2)}`, () => response.destroy()),
      (response) => stream(response).end(`${event(3)}${END}`),
    )
    // A real second passes, because the streams come over real sockets.
    const before = Date.now()
    expect(await all(url)).toEqual([1, 2, 3])
    expect(calls()).toBe(5)
    expect(Date.now() - before).toBeGreaterThanOrEqual(990)
  })

  it('is opened again when nothing comes for too long', async () => {
    const { url } = scripted(
      (response) => stream(response).write(`${QUICK}${event(1)}`),
      (response) => stream(response).end(`${event(2)}${END}`),
    )
    expect(await all(url, 5000, 100)).toEqual([1, 2])
  })

  it('is closed when its loop is left', async () => {
    const closed: boolean[] = []
    const { url } = scripted((response) => {
      stream(response).write(event(1))
      response.once('close', () => closed.push(true))
    })
    for await (const status of createWatchSession({ url, apiKey: API_KEY }, '/')('a session')) {
      expect(status).toBe(1)
      break
    }
    await expect.poll(() => closed).toEqual([true])
  })

  it('is given up when the service cannot be reached for as long as a call may take', async () => {
    const { url } = scripted((response) => stream(response).end(QUICK))
    await expect(all(url, 300)).rejects.toMatchObject({ code: 'unreachable' })
  })

  it('is given up at once where the service asks to come back later than that', async () => {
    const { url, calls } = scripted((response) => refuseBusy(response, '60'))
    await expect(all(url, 5000)).rejects.toMatchObject({ status: 503, retryAfterSeconds: 60 })
    expect(calls()).toBe(1)
  })

  it.each([
    ['something else', (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<')],
    ['a redirect', (response: ServerResponse) => response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end()],
    ['events that are not JSON', (response: ServerResponse) => stream(response).end('event: status\ndata: {\n\n')],
  ])('that is %s is not a stream', async (_, answer) => {
    const { url } = scripted(answer)
    await expect(all(url, 300)).rejects.toBeInstanceOf(ServiceError)
  })
})
