/** Streams of events of services as processes: a thousand of them, a stop while they are open, and two processes. */
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { EndedCommand } from '../support/command.ts'
import { type EventClient, openEvents } from '../support/event-stream.ts'
import { faults } from '../support/faults.ts'
import { type Running, serviceDirectory, start } from '../support/service-process.ts'
import { authorization, configuration, dataset, dcqlQuery } from '../support/wire.ts'

const MIB = 1024 * 1024
const MOST = 1000
const AT_ONCE = 50
const RESIDENT = 'process_resident_memory_bytes'
const PATHS = { issuer: '/issuance/oid4vci', verifier: '/presentation/oid4vp' }

const running: Running[] = []
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})

async function post(url: string, body: object): Promise<string> {
  const headers = { ...authorization, 'content-type': 'application/json' }
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).text()
}

async function startedProcess(name: keyof typeof PATHS, directory: string): Promise<Running> {
  const service = await start(name, directory)
  running.push(service)
  return service
}

/** Begins so many sessions, and returns their ids. */
async function begin(name: keyof typeof PATHS, url: string, count: number): Promise<string[]> {
  const isIssuer = name === 'issuer'
  const id = isIssuer
    ? await post(`${url}/credential-configuration/create`, configuration)
    : await post(`${url}/verification-query/create`, { dcql_query: dcqlQuery })
  const body = isIssuer
    ? { credential_configurations: [id], credential_dataset: dataset }
    : { verification_query_id: id }
  const ids: string[] = []
  while (ids.length < count) {
    // A busy machine refuses more connections at once.
    const some = Array.from({ length: Math.min(AT_ONCE, count) }, () => post(`${url}${PATHS[name]}/new-session`, body))
    for (const text of await Promise.all(some)) ids.push((JSON.parse(text) as { session_id: string }).session_id)
  }
  return ids
}

async function metricOf(port: unknown, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1])
}

/** Streams that keep a service from stopping are ended hard, which its log says. */
function expectStopped({ status, stdout }: EndedCommand): void {
  expect([status, stdout.includes('"event":"stopped"'), stdout.includes('stopping_hard')]).toEqual([0, true, false])
}

/** The streams of both services run the same code, so that one session is enough for those of the verifier. */
const rows = [
  ['issuer', MOST],
  ['verifier', 1],
] as const

describe.each(faults<(typeof rows)[number]>(rows))('a thousand idle streams of the %s', (name, sessions) => {
  it('take little memory, are the most, and end at once when it stops', async () => {
    const directory = await serviceDirectory(name, { management: { port: 0 } })
    const service = await startedProcess(name, directory)
    const { managementPort } = service.listening
    const ids = await begin(name, service.url, sessions)
    const before = await metricOf(managementPort, RESIDENT)
    const streams: EventClient[] = []
    for (let at = 0; at < MOST; at += AT_ONCE) {
      const some = Array.from({ length: AT_ONCE }, (_, index) =>
        openEvents(`${service.url}${PATHS[name]}/events/${ids[(at + index) % sessions]}`),
      )
      streams.push(...(await Promise.all(some)))
    }
    await Promise.all(streams.map(({ next }) => next(0)))
    // Two rounds of reading, after which nothing was sent.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const after = await metricOf(managementPort, RESIDENT)
    expect((after - before) / MIB).toBeLessThan(100)
    expect(streams.map(({ events }) => events().length)).toEqual(streams.map(() => 1))

    const refused = await openEvents(`${service.url}${PATHS[name]}/events/${ids[0]}`)
    await refused.closed
    expect([refused.status, JSON.parse(refused.text())]).toMatchObject([503, { error: 'temporarily_unavailable' }])
    const status = await fetch(`${service.url}${PATHS[name]}/status/${ids[0]}`, { headers: authorization })
    expect(status.status).toBe(200)
    expect(await metricOf(managementPort, `vouchsafe_${name}_event_streams`)).toBe(MOST)

    service.child.kill('SIGTERM')
    await Promise.all(streams.map(({ closed }) => closed))
    expectStopped(await service.ended)
  })
})

it('a stream that is never read keeps no service from stopping', async () => {
  const service = await startedProcess('issuer', await serviceDirectory('issuer'))
  const [id = ''] = await begin('issuer', service.url, 1)
  const socket = connect(service.port, '127.0.0.1').pause()
  socket.on('error', () => undefined)
  const head = `GET ${PATHS.issuer}/events/${id} HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization.authorization}\r\n`
  socket.write(`${head}\r\n`)
  const reader = await openEvents(`${service.url}${PATHS.issuer}/events/${id}`)
  await reader.next(0)
  service.child.kill('SIGTERM')
  expectStopped(await service.ended)
  socket.destroy()
})

it('streams of one process have what another process on the same SQLite file changes', async () => {
  const directory = await serviceDirectory('issuer')
  const first = await startedProcess('issuer', directory)
  const second = await startedProcess('issuer', directory)
  const [id = ''] = await begin('issuer', first.url, 1)
  const stream = await openEvents(`${first.url}${PATHS.issuer}/events/${id}`)
  expect(await stream.next(0)).toMatchObject({ status: 'STARTED' })
  await fetch(`${second.url}${PATHS.issuer}/credential-offer/${id}`)
  expect(await stream.next(1)).toMatchObject({ offer_fetched_at: expect.any(Number) as number })
  const form = new URLSearchParams({ grant_type: 'unknown' })
  await fetch(`${second.url}/auth/token-endpoint/${id}`, { method: 'POST', body: form })
  expect(await stream.next(2)).toMatchObject({ problem: { endpoint: 'token', error: 'unsupported_grant_type' } })
  stream.close()
})
