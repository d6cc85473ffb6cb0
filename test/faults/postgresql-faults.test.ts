/** A PostgreSQL server of the test's own that is killed, or can only be read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withConnection } from '../../src/store/postgres-connections.ts'
import { reportFault } from '../support/faults.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { type Running, serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { postgresOf } from '../support/store.ts'
import { configuration, dataset } from '../support/wire.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

describe('a service whose PostgreSQL server is killed', () => {
  it('loses nothing that it has answered, lives on, and is ready again by itself', async ({ task }) => {
    const issuer = await start('issuer', await serviceDirectory('issuer', { database: { url: server.url } }))
    const configurationId = await (await post(issuer, '/credential-configuration/create', configuration)).text()
    const body = { credential_dataset: dataset, credential_configurations: [configurationId] }
    const acknowledged: string[] = []
    const refusals = new Map<number, string>()
    let isOver = false
    const load = Array.from({ length: 20 }, async () => {
      while (!isOver) {
        const response = await post(issuer, '/issuance/oid4vci/new-session', body)
        const text = await response.text()
        if (response.status === 200) acknowledged.push((JSON.parse(text) as { session_id: string }).session_id)
        else refusals.set(response.status, text)
        if (response.status !== 200) await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })
    await expect.poll(() => acknowledged.length).toBeGreaterThan(100)
    await server.kill()
    await expect.poll(() => statusAt(issuer, '/health/ready')).toBe(503)
    expect(await statusAt(issuer, '/health/live')).toBe(200)
    await server.restart()
    await expect.poll(() => statusAt(issuer, '/health/ready')).toBe(200)
    const before = acknowledged.length
    await expect.poll(() => acknowledged.length).toBeGreaterThan(before + 20)
    isOver = true
    await Promise.all(load)

    expect([...refusals.keys()]).toEqual([500])
    expect(refusals.get(500)).toMatch(/^\{"error":"server_error","error_description":"internal error; /)
    const lost: string[] = []
    for (const id of acknowledged) if ((await statusAt(issuer, `/issuance/oid4vci/status/${id}`)) !== 200) lost.push(id)
    reportFault(task, { tried: 1, acknowledged: acknowledged.length, lost: lost.length })
    expect(lost).toEqual([])
    expect(issuer.child.exitCode).toBe(null)
    issuer.child.kill('SIGTERM')
    const end = await issuer.ended
    expect([end.status, end.stderr]).toEqual([0, ''])
    expect(end.stdout).not.toContain(new URL(server.url).password)
  })
})

describe('a service whose PostgreSQL server can only be read', () => {
  it('is not ready, lives on, and is ready again by itself', async () => {
    const issuer = await start('issuer', await serviceDirectory('issuer', { database: { url: server.url } }))
    const create = async () => (await post(issuer, '/credential-configuration/create', configuration)).status
    expect([await statusAt(issuer, '/health/ready'), await create()]).toEqual([200, 201])
    await setReadOnly('on')
    await expect.poll(() => statusAt(issuer, '/health/ready')).toBe(503)
    expect([await create(), await statusAt(issuer, '/health/live')]).toEqual([500, 200])
    await setReadOnly('off')
    await expect.poll(() => statusAt(issuer, '/health/ready')).toBe(200)
    expect(await create()).toBe(201)
    issuer.child.kill('SIGTERM')
    expect((await issuer.ended).status).toBe(0)
  })
})

/** Sets whether the transactions of all connections to the server may only read from now on. */
async function setReadOnly(value: 'on' | 'off'): Promise<void> {
  for (const text of [`alter system set default_transaction_read_only = ${value}`, 'select pg_reload_conf()'])
    await withConnection(postgresOf(server.url), (run) => run({ text, values: [] }))
}

const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }

function post({ url }: Running, path: string, body: unknown): Promise<Response> {
  return fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function statusAt({ url }: Running, path: string): Promise<number> {
  const response = await fetch(url + path, { headers })
  await response.arrayBuffer()
  return response.status
}
