/** Traces and log lines of the command's own processes, by OTLP to a collector on this machine. */
import { spawn } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type CollectedSpan, type Collector, openCollector, startCollector } from '../support/collector.ts'
import { startCommand, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { snippetsOf } from '../support/documents.ts'
import { makeEngine } from '../support/engine-process.ts'
import { freePort } from '../support/free-port.ts'
import { startReceiver } from '../support/receiver.ts'
import { findRevealed } from '../support/revealed.ts'
import {
  endService,
  listening,
  type Running,
  serviceDirectory,
  start,
  startForTest,
} from '../support/service-process.ts'
import { API_KEY, ISSUER_URL, type Services, VERIFIER_URL } from '../support/services.ts'
import { issueWithStatus } from '../support/status.ts'
import { authorization, dcqlQuery, postForm, presentationOf, sha256, startVerification } from '../support/wire.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const traceparent = `00-${TRACE}-${PARENT}-01`
const SERVER = 2
/** The address in credentials, at which the issuer's status list would be, leads nowhere. */
const UNREACHABLE = { status: { onUnreachable: 'accept' } }

/** Makes the directory of a service that sends to the collector. */
function directoryFor(
  name: 'issuer' | 'verifier',
  { url }: Pick<Collector, 'url'>,
  { sampleRatio = 1, ...more }: { readonly sampleRatio?: number; readonly sessionCallback?: object } = {},
): Promise<string> {
  const telemetry = { endpoint: url, sampleRatio, headers: { 'x-token': 'the-token-of-the-collector' } }
  const own = name === 'issuer' ? { baseUrl: ISSUER_URL } : { baseUrl: VERIFIER_URL, ...UNREACHABLE }
  return serviceDirectory(name, { port: 0, telemetry, ...own, ...more })
}

/** Makes what the helpers of a wallet and an application need of services. */
function servicesAt({ issuer, verifier }: { readonly issuer?: Running; readonly verifier?: Running }): Services {
  const send: typeof fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    return fetch(url.replace(ISSUER_URL, issuer?.url ?? '').replace(VERIFIER_URL, verifier?.url ?? ''), init)
  }
  return { clock: { now: new Date() }, fetch: send } as Services
}

/** Returns the span of a request, by its name. */
function requestSpan(collector: Collector, name: string): Promise<CollectedSpan> {
  return collector.whenSpan((span) => span.kind === SERVER && span.name === name)
}

const below = ({ spans }: Collector, { traceId, spanId }: CollectedSpan) =>
  spans.filter((span) => span.traceId === traceId && span.parentSpanId === spanId).map(({ name }) => name)

describe('an issuance and a presentation', () => {
  it('are traced, each request with its steps, and none of their secrets is sent', async () => {
    const collector = await startCollector()
    const directories = [await directoryFor('issuer', collector), await directoryFor('verifier', collector)] as const
    copyFileSync(join(directories[0], 'issuer.pem'), join(directories[1], 'anchors', 'issuer.pem'))
    const issuer = await startForTest('issuer', directories[0])
    const verifier = await startForTest('verifier', directories[1])
    const services = servicesAt({ issuer, verifier })
    const { sessionId: offered, code, token, nonce, holder, credential } = await issueWithStatus(services)
    const { sessionId, request } = await startVerification(services)
    const presentation = await presentationOf(credential, holder, request, services.clock)
    const response = await postForm(services, request.response_uri, {
      vp_token: JSON.stringify({ card: [presentation] }),
      state: request.state,
    })
    expect([response.status, await response.json()]).toEqual([200, {}])

    const issuing = await requestSpan(collector, 'POST /issuance/oid4vci/credential-request')
    expect(issuing).toMatchObject({
      service: 'vouchsafe-issuer',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/issuance/oid4vci/credential-request',
        'http.response.status_code': 200,
        'vouchsafe.request': expect.stringMatching(/^[\w-]{16}$/) as string,
      },
      status: {},
    })
    expect(issuing.parentSpanId).toBeUndefined()
    const checking = await requestSpan(collector, 'POST /presentation/oid4vp/authorization-response/:session_id')
    expect(checking).toMatchObject({ service: 'vouchsafe-verifier', attributes: { 'http.response.status_code': 200 } })
    const signing = await requestSpan(collector, 'GET /presentation/oid4vp/authorization-request/:session_id')
    // All steps of the requests come with them, or before.
    await expect.poll(() => below(collector, issuing)).toEqual(expect.arrayContaining(['sign', 'commit']))
    await expect
      .poll(() => below(collector, checking))
      .toEqual(expect.arrayContaining(['get verification_session', 'check presentation', 'commit']))
    await expect.poll(() => below(collector, signing)).toContain('sign')
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBeGreaterThan(8)
    for (const { startTimeUnixNano, endTimeUnixNano } of collector.spans) {
      expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano))
    }

    const ends = [await endService(issuer, 'SIGTERM'), await endService(verifier, 'SIGTERM')]
    expect(ends.map(({ status }) => status)).toEqual([0, 0])
    // Each line has come, with the trace of its request, and stdout has the same.
    const finished = collector.logs.find(({ eventName }) => eventName === 'session_finished')
    expect(finished).toMatchObject({ service: 'vouchsafe-verifier', body: 'session finished', severityText: 'INFO' })
    expect([finished?.traceId, finished?.spanId]).toEqual([checking.traceId, checking.spanId])
    const line = ends[1]?.stdout.split('\n').find((each) => each.includes('"session_finished"')) ?? ''
    expect(JSON.parse(line)).toMatchObject({ traceId: checking.traceId, spanId: checking.spanId })
    expect(collector.logs.map(({ eventName }) => eventName)).toEqual(
      expect.arrayContaining(['listening', 'token_given', 'credential_issued', 'stopping']),
    )

    const secrets = [API_KEY, 'the-token-of-the-collector', offered, code, token, nonce, sessionId, credential]
    const others = ['Ada', 'Lovelace', 'London', presentation, request.state, request.nonce, holder.kid]
    const sent = collector.bodies.join('\n')
    expect(findRevealed(sent, [...secrets, ...others])).toEqual([])
    expect(collector.headers[0]).toMatchObject({
      ...{ 'x-token': 'the-token-of-the-collector', 'content-type': 'application/json' },
    })
  })
})

/** Gives the parts as bytes, with a pause after each. */
async function* inTime(parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    yield Buffer.from(part)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

describe('a request', () => {
  let collector: Awaited<ReturnType<typeof openCollector>>
  let verifier: Running
  beforeAll(async () => {
    collector = await openCollector()
    verifier = await start('verifier', await directoryFor('verifier', collector))
    return () => endService(verifier, 'SIGKILL')
  })
  afterAll(() => collector.close())

  it('that is refused has its reason in the span, and its trace in the line, also where its body cannot be read', async () => {
    // The body comes in parts, each of which is a turn of its own for the service.
    const create = (...parts: string[]) =>
      fetch(`${verifier.url}/verification-query/create`, {
        ...{ method: 'POST', headers: { ...authorization, 'content-type': 'application/json' }, duplex: 'half' },
        body: ReadableStream.from(inTime(parts)),
      })
    expect((await create('{"secret"', ' ')).status).toBe(400)
    const span = await requestSpan(collector, 'POST /verification-query/create')
    expect(span).toMatchObject({ status: {}, attributes: { 'vouchsafe.error': 'invalid_request' } })
    await expect
      .poll(() => collector.logs.find(({ eventName }) => eventName === 'refused'))
      .toMatchObject({
        ...{
          traceId: span.traceId,
          spanId: span.spanId,
          attributes: { request: span.attributes['vouchsafe.request'] },
        },
      })
    const query = await create(JSON.stringify({ dcql_query: dcqlQuery }), ' ', ' ')
    expect(query.status).toBe(201)
    // The line of an act is written when its answer was sent.
    const acted = await collector.whenSpan(({ attributes }) => attributes['http.response.status_code'] === 201)
    await expect
      .poll(() => collector.logs.find(({ eventName }) => eventName === 'administered'))
      .toMatchObject({
        ...{ traceId: acted.traceId, spanId: acted.spanId },
      })
    expect(acted.attributes).toMatchObject({ 'vouchsafe.caller': 'test' })
    await expect.poll(() => below(collector, acted)).toContain('commit')
  })

  it('whose answer nobody takes has a span too', async () => {
    const { sessionId } = await startVerification(servicesAt({ verifier }))
    const end = new AbortController()
    const stream = await fetch(`${verifier.url}/presentation/oid4vp/events/${sessionId}`, {
      ...{ headers: authorization, signal: end.signal },
    })
    expect(stream.status).toBe(200)
    end.abort()
    const span = await requestSpan(collector, 'GET /presentation/oid4vp/events/:session_id')
    expect(span.attributes).toMatchObject({ 'error.type': 'aborted', 'vouchsafe.session': sha256(sessionId) })
  })
})

describe('the trace of a caller', () => {
  it('with an API key goes on, into the callback of what it causes', async () => {
    const collector = await startCollector()
    const receiver = await startReceiver()
    const settings = { sessionCallback: { url: receiver.url } }
    const issuer = await startForTest('issuer', await directoryFor('issuer', collector, settings))
    const { sessionId } = await issueWithStatus(servicesAt({ issuer }))
    const revoked = await fetch(`${issuer.url}/credential-status/revoke/${sessionId}`, {
      method: 'POST',
      headers: { ...authorization, traceparent, tracestate: 'vendor=1' },
    })
    expect(revoked.status).toBe(200)
    const span = await collector.whenSpan(({ traceId, kind }) => traceId === TRACE && kind === SERVER)
    expect(span).toMatchObject({
      parentSpanId: PARENT,
      traceState: 'vendor=1',
      attributes: { 'vouchsafe.caller': 'test' },
    })
    const posted = await receiver.whenPosted(2)
    const about = posted.find(({ event }) => event.type === 'credential.revoked')
    const delivery = await collector.whenSpan(({ traceId, name }) => traceId === TRACE && name === 'POST')
    expect(about?.headers).toMatchObject({
      traceparent: `00-${TRACE}-${delivery.spanId}-01`,
      tracestate: 'vendor=1',
    })
    // Below the batch that recorded the event, which is below the request.
    const commit = collector.spans.find(({ spanId }) => spanId === delivery.parentSpanId)
    expect(commit).toMatchObject({ name: 'commit', traceId: TRACE, parentSpanId: span.spanId })
    expect(delivery.attributes).toMatchObject({ 'server.address': '127.0.0.1', 'http.response.status_code': 204 })
    // An event that a wallet caused has the trace of the wallet's own request.
    const first = posted.find(({ event }) => event.type === 'issuance.succeeded')
    expect(first?.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(first?.headers.traceparent).not.toContain(TRACE)
  })

  it('decides what is kept, where the caller has an API key', async () => {
    const collector = await startCollector()
    const verifier = await startForTest('verifier', await directoryFor('verifier', collector, { sampleRatio: 0 }))
    const create = (flags: string) =>
      fetch(`${verifier.url}/verification-query/create`, {
        method: 'POST',
        headers: {
          ...authorization,
          'content-type': 'application/json',
          traceparent: `00-${TRACE}-${PARENT}-${flags}`,
        },
        body: JSON.stringify({ dcql_query: dcqlQuery }),
      })
    for (const flags of ['00', '00', '01']) expect((await create(flags)).status).toBe(201)
    await collector.whenSpan(({ kind }) => kind === SERVER)
    expect(collector.spans.filter(({ kind }) => kind === SERVER)).toHaveLength(1)
  })

  it('without one is not read: it decides neither ids nor what is kept', async () => {
    const collector = await startCollector()
    const verifier = await startForTest('verifier', await directoryFor('verifier', collector, { sampleRatio: 0 }))
    // A wallet, a wrong API key, and nobody at an address of nothing.
    for (const [path, status, headers] of [
      ['/presentation/oid4vp/authorization-request/unknown', 404, {}],
      ['/presentation/oid4vp/status/unknown', 401, { authorization: 'Bearer wrong' }],
      ['/no/such/address', 404, {}],
    ] as const) {
      const answer = await fetch(verifier.url + path, { headers: { ...headers, traceparent, tracestate: 'vendor=1' } })
      expect(answer.status).toBe(status)
    }
    await endService(verifier, 'SIGTERM')
    expect(collector.spans).toEqual([])
    const refused = collector.logs.filter(({ eventName }) => eventName === 'refused')
    expect(refused.map(({ traceId }) => traceId)).toEqual(Array(3).fill(expect.stringMatching(/^[0-9a-f]{32}$/)))
    expect(collector.bodies.join()).not.toContain(TRACE)
    expect(collector.bodies.join()).not.toContain('vendor')
  })
})

describe('the collector of docs/operating.md', () => {
  it('prints each span', async () => {
    const [block] = snippetsOf('docs/operating.md').filter(({ code }) => code.includes('.listen(4318)'))
    const directory = temporaryDirectory()
    const port = await freePort()
    writeFileSync(join(directory, 'collector.mjs'), block?.code.replace('4318', String(port)) ?? '')
    const child = spawn(process.execPath, ['collector.mjs'], { cwd: directory })
    onTestFinished(() => void child.kill())
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    const settings = { port: 0, telemetry: { endpoint: `http://127.0.0.1:${port}` } }
    const service = await startForTest('issuer', await serviceDirectory('issuer', settings))
    await expect
      .poll(async () => {
        await fetch(`${service.url}/openapi`)
        return printed
      })
      .toMatch(/^[0-9a-f]{32} \(first\) GET \/openapi$/m)
  })
})

describe('an engine', () => {
  it('has a span for each request, by the route and not by the target', async () => {
    const collector = await startCollector()
    const engine = await makeEngine({ telemetry: { endpoint: collector.url } })
    onTestFinished(() => engine.remove())
    await engine.start()
    const contract = `00${'ab'.repeat(20)}`
    await fetch(`${engine.url}/offchain/${contract}/secret/path?secret=1`, { headers: { traceparent } })
    await fetch(`${engine.url}/engine`)
    const call = await requestSpan(collector, 'GET /offchain/:contract/*')
    expect(call).toMatchObject({
      service: 'vouchsafe-engine',
      attributes: {
        'http.route': '/offchain/:contract/*',
        'vouchsafe.error': expect.stringMatching(/^(starting|unknown-contract)$/) as string,
      },
    })
    await requestSpan(collector, 'GET /engine')
    await engine.kill('SIGTERM')
    for (const each of ['secret', TRACE]) expect(collector.bodies.join()).not.toContain(each)
  })
})

describe('a collector', () => {
  const metricsOf = async ({ listening: { managementPort } }: Running): Promise<string> =>
    (await fetch(`http://127.0.0.1:${String(managementPort)}/metrics`)).text()

  it.each<[string, Parameters<typeof startCollector>[0] | undefined]>([
    ['is gone', undefined],
    ['never answers', () => undefined],
    ['refuses everything', (response) => response.writeHead(400).end()],
    ['is overloaded', (response) => response.writeHead(503).end()],
  ])('that %s delays no request and no stop', async (_, answer) => {
    const url = answer === undefined ? 'http://127.0.0.1:9' : (await startCollector(answer)).url
    const directory = await serviceDirectory('verifier', {
      ...{ port: 0, management: { port: 0 }, telemetry: { endpoint: url } },
    })
    const service = await startForTest('verifier', directory)
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => fetch(`${service.url}/presentation/oid4vp/authorization-request/none`)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]))
    expect(await metricsOf(service)).toMatch(/vouchsafe_verifier_telemetry_total\{signal="traces",end="sent"\} 0\n/)
    const { status, stdout } = await endService(service, 'SIGTERM')
    expect([status, stdout.includes('stopping_hard'), stdout.includes('"event":"stopped"')]).toEqual([0, false, true])
    if (answer === undefined) expect(stdout).toContain('"event":"telemetry_not_sent","signal":"traces"')
  })

  it('is sent the last line of a service that stops, and the warnings of one that does not start', async () => {
    const collector = await startCollector()
    const linesOf = (service: string) => collector.logs.filter((log) => log.service === service).map(({ body }) => body)
    const telemetry = (serviceName: string) => ({ telemetry: { endpoint: collector.url, serviceName } })
    const running = await startForTest(
      'verifier',
      await serviceDirectory('verifier', { port: 0, ...telemetry('stops') }),
    )
    const taken = await serviceDirectory('verifier', { port: running.port, ...telemetry('taken') })
    expect((await vouchsafe(['verifier'], { cwd: taken })).status).toBe(75)
    expect(linesOf('taken')).toContainEqual(expect.stringContaining('CN=verifier is valid until'))
    await endService(running, 'SIGTERM')
    expect(linesOf('stops')).toContain('stopped')
  })

  it('counts what it took', async () => {
    const collector = await startCollector()
    const directory = await serviceDirectory('issuer', {
      ...{ port: 0, management: { port: 0 }, telemetry: { endpoint: collector.url, logs: false, serviceName: 'mine' } },
    })
    const service = await startForTest('issuer', directory)
    await fetch(`${service.url}/openapi`)
    expect(await requestSpan(collector, 'GET /openapi')).toMatchObject({ service: 'mine' })
    await expect
      .poll(() => metricsOf(service))
      .toContain('vouchsafe_issuer_telemetry_total{signal="traces",end="sent"} 1')
    expect(collector.logs).toEqual([])
  })
})

describe('the headers for the collector', () => {
  it('come from a file that a variable names, and are in no log', async () => {
    const collector = await startCollector()
    const directory = await serviceDirectory('issuer', { port: 0 })
    writeFileSync(join(directory, 'headers.json'), '{"authorization":"Bearer from-the-file"}\n')
    const env = {
      VOUCHSAFE_TELEMETRY__ENDPOINT: collector.url,
      VOUCHSAFE_TELEMETRY__HEADERS_FILE: join(directory, 'headers.json'),
      VOUCHSAFE_TELEMETRY__SAMPLE_RATIO: '0.5',
    }
    const { child, ended } = startCommand(['issuer'], { cwd: directory, env })
    const { stdout } = await endService(await listening(child, ended), 'SIGTERM')
    expect(collector.logs.map(({ eventName }) => eventName)).toContain('listening')
    for (const { authorization: sent } of collector.headers) expect(sent).toBe('Bearer from-the-file')
    for (const text of [stdout, ...collector.bodies]) expect(text).not.toContain('from-the-file')
  })
})

describe('the code of telemetry', () => {
  /** Returns the names of the files that a service has loaded when it ends. */
  async function loadedBy(settings: Record<string, unknown>): Promise<readonly string[]> {
    const directory = await serviceDirectory('verifier', { port: 0, ...settings })
    const list = join(directory, 'list.cjs')
    writeFileSync(
      list,
      `process.on('exit', () => require('node:fs').writeFileSync('loaded.json', JSON.stringify(Object.keys(require.cache))))`,
    )
    const { child, ended } = startCommand(['verifier'], {
      ...{ cwd: directory, env: { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require ${list}` } },
    })
    const service = await listening(child, ended)
    expect((await fetch(`${service.url}/presentation/oid4vp/authorization-request/none`)).status).toBe(404)
    const { stdout } = await endService(service, 'SIGTERM')
    expect(stdout.includes('"traceId"')).toBe('telemetry' in settings)
    return JSON.parse(readFileSync(join(directory, 'loaded.json'), 'utf8')) as string[]
  }

  it('is loaded where it is configured, and nowhere else', async () => {
    const isTelemetry = (path: string) => /parts\/telemetry-/.test(path)
    const collector = await startCollector()
    expect((await loadedBy({ telemetry: { endpoint: collector.url } })).filter(isTelemetry)).toHaveLength(1)
    const without = await loadedBy({})
    expect(without.length).toBeGreaterThan(5)
    expect(without.filter(isTelemetry)).toEqual([])
  })
})
