import { describe, expect, it } from 'vitest'
import { serving, text } from '../../test/support/engine.ts'
import { type HttpClientRequest, type Outbound, OutboundError } from '../http/outbound.ts'
import type { HttpRequestData } from '../offchain/http-data.ts'

/** Returns what a component gets that sends this request, and what went out. */
async function sent(request: Partial<HttpRequestData>, answer?: Outbound) {
  const out: HttpClientRequest[] = []
  const outbound: Outbound = (asked) => {
    out.push(asked)
    return (
      answer?.(asked) ??
      Promise.resolve({ status: 201, headers: { 'content-encoding': 'gzip', a: 'b' }, body: Buffer.from('yes') })
    )
  }
  const settings = { outbound: { allow: ['api.example', 'other.example:8443'] } }
  const { engine, url, logLines } = await serving(
    {
      http: async ({ host }) => {
        const whole = { method: 'GET', uri: 'https://api.example/x', headers: [], body: new Uint8Array(), ...request }
        const { status, headers, body } = await host.send(whole)
        return text(JSON.stringify({ status, headers, body: Buffer.from(body).toString() }))
      },
    },
    { settings, outbound },
  )
  const { body } = await engine.app.inject(url)
  await engine.app.close()
  const lines = logLines.map((line) => JSON.parse(line) as { readonly event: string })
  return { out, got: JSON.parse(body) as { status: number; headers: unknown; body: string }, lines }
}

describe('requests of components to other hosts', () => {
  it('go to those that the operator allows, within the limits, and never to private addresses', async () => {
    const headers = [
      { name: 'X-Key', values: ['1', '2'] },
      { name: 'Host', values: ['internal'] },
      { name: 'Transfer-Encoding', values: ['chunked'] },
    ]
    const { out, got } = await sent({ method: 'put', headers, body: Buffer.from([0, 255]) })
    expect(out).toEqual([
      {
        ...{ url: 'https://api.example/x', method: 'PUT', headers: { 'x-key': '1, 2' }, bytes: Buffer.from([0, 255]) },
        ...{ timeoutMs: 10_000, maxBytes: 1_048_576, allowPrivateAddresses: false },
      },
    ])
    expect(got).toEqual({ status: 201, headers: [{ name: 'a', values: ['b'] }], body: 'yes' })
  })

  it.each([
    ['another host', { uri: 'https://evil.example/' }],
    ['the host in the user name', { uri: 'https://api.example@evil.example/' }],
    ['another port', { uri: 'https://api.example:8443/' }],
    ['the usual port of a host that is allowed at another', { uri: 'https://other.example/' }],
    ['no URL', { uri: '/x' }],
    ['CONNECT', { method: 'CONNECT' }],
    ['TRACE', { method: 'TRACE' }],
  ])('are not sent otherwise: %s', async (_, request) => {
    const { out, got } = await sent(request)
    expect([out, got.status]).toEqual([[], 600])
  })

  it('have status 600 and the reason when there is no answer', async () => {
    const { got } = await sent({}, () => Promise.reject(new OutboundError('api.example does not answer')))
    expect(got).toEqual({ status: 600, headers: [], body: 'api.example does not answer' })
  })

  it('have status 600 when this engine makes a mistake, whose place the log has', async () => {
    const { got, lines } = await sent({}, () => Promise.reject(new TypeError('a secret')))
    expect(got).toEqual({ status: 600, headers: [], body: expect.stringMatching(/mistake of this engine/) as string })
    expect(lines.filter(({ event }) => event === 'outbound_threw')).toMatchObject([
      { error: { name: 'TypeError', stack: expect.stringContaining('host.test.ts') as string } },
    ])
    expect(JSON.stringify([got, lines])).not.toContain('a secret')
  })
})

describe('the generation that a component sees', () => {
  it('stays as it is from call to call, and is another where the database is a copy', async () => {
    const { engine, url, store } = await serving({ http: async ({ host }) => text(await host.getGeneration()) })
    const ask = async () => (await engine.app.inject(url)).body
    const first = await ask()
    expect(first).toMatch(/^[\w-]{22}$/)
    expect(await ask()).toBe(first)
    const row = await store.get('generation', 'current')
    if (row === undefined) throw new Error('there is no generation')
    const value = { ...row.value, origin: 'of another database' }
    await store.commit([{ update: 'generation', id: 'current', version: row.version, value }])
    const second = await ask()
    expect(second).toMatch(/^[\w-]{22}$/)
    expect(second).not.toBe(first)
    await engine.app.close()
  })
})
