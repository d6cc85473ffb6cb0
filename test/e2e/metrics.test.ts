/** `GET /metrics` of an issuer and of a verifier, on a port of its own. */
import { afterEach, describe, expect, it } from 'vitest'
import { type Running, serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { configuration, dataset, dcqlQuery } from '../support/wire.ts'

const running: Running[] = []
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGTERM')
    await ended
  }
})

/** Starts a service with metrics, and returns a function that reads them. */
async function measured(name: 'issuer' | 'verifier'): Promise<{ service: Running; metrics: () => Promise<string> }> {
  const service = await start(name, await serviceDirectory(name, { management: { port: 0 } }))
  running.push(service)
  const url = `http://127.0.0.1:${String(service.listening.managementPort)}/metrics`
  return { service, metrics: async () => (await fetch(url)).text() }
}

describe.each([
  ['issuer', '/credential-configuration/create', configuration],
  ['verifier', '/verification-query/create', { dcql_query: dcqlQuery }],
] as const)('the metrics of the %s', (name, path, body) => {
  const prefix = `vouchsafe_${name}_`
  const post = ({ url }: Running, value: unknown, key = API_KEY) =>
    fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(value),
    })

  it('count requests by route and status, and refusals by error', async () => {
    const { service, metrics } = await measured(name)
    for (const value of [body, body, { wrong: 1 }]) await post(service, value)
    await post(service, body, 'no key')
    const text = await metrics()
    const route = `method="POST",route="${path}"`
    expect(text).toContain(`${prefix}http_requests_total{${route},status="201"} 2\n`)
    expect(text).toContain(`${prefix}http_requests_total{${route},status="400"} 1\n`)
    expect(text).toContain(`${prefix}http_refusals_total{route="${path}",error="invalid_request"} 1\n`)
    expect(text).toContain(`${prefix}http_refusals_total{route="${path}",error="unauthorized"} 1\n`)
    expect(text).toContain(`${prefix}http_request_seconds_count{route="${path}"} 4\n`)
  })

  it('count what was recorded, and the callbacks that wait', async () => {
    const { service, metrics } = await measured(name)
    await post(service, body)
    const text = await metrics()
    const type = name === 'issuer' ? 'configuration.created' : 'query.created'
    expect(text).toContain(`${prefix}events_total{type="${type}"} 1\n`)
    expect(text).toContain(`${prefix}callbacks{state="waiting"} 0\n`)
    expect(text).toContain(`${prefix}callback_oldest_seconds{state="waiting"} 0\n`)
  })

  it('have no label that a caller chose, and none of the texts that a caller sent', async () => {
    const { service, metrics } = await measured(name)
    for (let n = 0; n < 20; n += 1) await fetch(`${service.url}/no-such-path-${n}/secret?secret=${n}`)
    await fetch(service.url, { method: 'PROPFIND' })
    await fetch(`${service.url}/issuance/oid4vci/status/secret`)
    const text = await metrics()
    expect(text).not.toMatch(/no-such-path|secret|PROPFIND/)
    expect(text).toContain(`${prefix}http_requests_total{method="none",route="none",status="404"}`)
  })

  it('say when the certificate of each key ends, and how the process does', async () => {
    const { metrics } = await measured(name)
    const text = await metrics()
    const [, seconds] =
      new RegExp(`${prefix}certificate_expires_seconds\\{key="signing",certificate="own"\\} (\\d+)`).exec(text) ?? []
    expect(Number(seconds)).toBeGreaterThan(86_000)
    expect(Number(seconds)).toBeLessThanOrEqual(86_400)
    for (const each of [
      'nodejs_eventloop_lag_p99_seconds',
      'process_resident_memory_bytes',
      `${prefix}store_conflicts_total`,
    ])
      expect(text).toContain(each)
  })

  it('say that the service is ready, and which states its newest sessions have', async () => {
    const { service, metrics } = await measured(name)
    const id = await (await post(service, body)).text()
    const [start, naming] =
      name === 'issuer'
        ? ['/issuance/oid4vci/new-session', { credential_dataset: dataset, credential_configurations: [id] }]
        : ['/presentation/oid4vp/new-session', { verification_query_id: id }]
    const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
    const started = await fetch(service.url + start, { method: 'POST', headers, body: JSON.stringify(naming) })
    expect([started.status, await started.text()]).toEqual([200, expect.any(String)])
    const text = await metrics()
    expect(text).toContain(`${prefix}ready 1\n`)
    expect(text).toContain(`${prefix}sessions{state="STARTED"} 1\n`)
    expect(text).toContain(`${prefix}log_lines_dropped_total 0\n`)
    // Events of the session may be on their way into the audit log at that moment.
    await expect.poll(metrics, { timeout: 300_000 }).toContain(`${prefix}database_batches_waiting 0\n`)
  })

  it('are not on the port that wallets reach', async () => {
    const { service } = await measured(name)
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404)
  })
})

it('are served nowhere unless a port is set', async () => {
  const service = await start('issuer', await serviceDirectory('issuer'))
  running.push(service)
  expect(service.listening).not.toHaveProperty('managementPort')
})
