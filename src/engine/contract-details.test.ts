import { type AddressInfo, connect } from 'node:net'
import { Ajv } from 'ajv'
import { expect, it, vi } from 'vitest'
import { CONTRACT, ENGINE, type Script, serving, type TestEngine, text } from '../../test/support/engine.ts'
import { closedAfterwards } from '../../test/support/engine-calls.ts'
import { evmAddress } from '../offchain/address.ts'
import { openApi } from './openapi.ts'

const KEY = 'k'.repeat(64)
const WITH_KEY = { integrations: { authentication: { [KEY]: 'console' } } }

async function engineOf(script: Script, settings: Record<string, unknown> = WITH_KEY): Promise<TestEngine> {
  const engine = await serving(script, { settings })
  return closedAfterwards(engine)
}

function ask({ engine }: TestEngine, contract = evmAddress(CONTRACT) as string, key: string | undefined = KEY) {
  const headers = key === '' ? {} : { authorization: `Bearer ${key}` }
  return engine.app.inject({ url: `/engine/contracts/${contract}`, headers })
}

const call = ({ engine }: TestEngine, path: string) => engine.app.inject({ url: `/offchain/${CONTRACT}${path}` })

it('tells the operator what a component was asked, how that ended, and what it logged, the latest first', async () => {
  const engine = await engineOf({
    http: (hands) => {
      const { hook } = hands.call
      if (hook.kind === 'http' && hook.request.uri === '/broken') throw new Error('no such share')
      hands.log('a share was given')
      hands.set('key', 'value')
      return Promise.resolve(text('yes'))
    },
  })
  await call(engine, '/shares/7?token=secret')
  await call(engine, '/broken')
  const answer = await ask(engine)
  expect(answer.statusCode).toBe(200)
  const told = answer.json<Record<string, unknown> & { calls: Record<string, unknown>[] }>()
  expect(told).toMatchObject({
    address: evmAddress(CONTRACT),
    state: 'served',
    engines: [{ address: evmAddress(ENGINE) }],
    transactions: { waiting: 0, today: 0 },
    waiting_calls: 0,
  })
  expect(told.storage_bytes).toBeGreaterThan(0)
  expect(told.calls).toMatchObject([
    { hook: 'http', asked: 'GET /broken', outcome: 'trap', why: 'no such share', log: [] },
    { hook: 'http', asked: 'GET /shares/7', outcome: 'done', status: 200, log: ['a share was given'] },
  ])
  expect(told.calls[0]?.request).toMatch(/\S/)
  expect(answer.body).not.toContain('secret')
})

it('tells of a client that left while its call waited, which is not run, nor counted as an answer', async () => {
  let answerFirst = (): void => undefined
  const answer = new Promise<ReturnType<typeof text>>((resolve) => {
    answerFirst = () => resolve(text('yes'))
  })
  const engine = await engineOf({ http: () => answer })
  const { app, metrics } = engine.engine
  const told = async () => (await ask(engine)).json<{ waiting_calls: number; calls: { outcome: string }[] }>()
  await app.listen({ port: 0, host: '127.0.0.1' })
  const disconnected = vi.fn()
  app.server.on('connection', (socket) => socket.on('close', disconnected))
  const first = app.inject({ method: 'POST', url: engine.url })
  await vi.waitFor(() => expect(engine.runtime.runs).toBe(1))
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1', () => {
    client.write(`POST ${engine.url} HTTP/1.1\r\nHost: engine\r\nContent-Length: 0\r\n\r\n`)
  })
  await vi.waitFor(async () => expect(await told()).toMatchObject({ waiting_calls: 1 }))
  client.destroy()
  await vi.waitFor(() => expect(disconnected).toHaveBeenCalled())
  answerFirst()
  expect((await first).statusCode).toBe(200)
  await vi.waitFor(async () =>
    expect((await told()).calls).toMatchObject([{ outcome: 'abandoned' }, { outcome: 'done' }]),
  )
  expect(engine.runtime.runs).toBe(1)
  const answers = await metrics.registry.getSingleMetricAsString('vouchsafe_engine_http_answers_total')
  expect(answers.match(/^[^#].*$/gm)).toEqual(['vouchsafe_engine_http_answers_total{status="200",error=""} 1'])
})

it('answers as the OpenAPI document says', async () => {
  const engine = await engineOf({
    http: (hands) => {
      hands.timer(3, 60_000)
      return Promise.resolve(text('yes'))
    },
    stateChange: () => Promise.reject(new Error('no')),
  })
  await call(engine, '/')
  const ajv = new Ajv({ strict: false, formats: { 'date-time': true } })
  for (const [name, answer] of [
    ['ContractDetails', await ask(engine)],
    ['Engine', await engine.engine.app.inject('/engine')],
  ] as const) {
    expect(answer.statusCode).toBe(200)
    ajv.validate(openApi.components.schemas[name], answer.json())
    expect(ajv.errors).toBeNull()
    const described = Object.keys(openApi.components.schemas[name].properties)
    expect(Object.keys(answer.json<object>()).filter((member) => !described.includes(member))).toEqual([])
  }
})

it('keeps fifty calls of a contract, and of each some lines of a length', async () => {
  const engine = await engineOf({
    http: (hands) => {
      for (let line = 0; line < 30; line += 1) hands.log('x'.repeat(10_000))
      return Promise.resolve(text('yes'))
    },
  })
  for (let n = 0; n < 60; n += 1) await call(engine, `/${n}`)
  const { calls } = (await ask(engine)).json<{ calls: { asked: string; log: string[] }[] }>()
  expect([calls.length, calls[0]?.asked, calls.at(-1)?.asked]).toEqual([50, 'GET /59', 'GET /10'])
  const { log = [] } = calls[0] ?? {}
  expect([log.length, log[0]?.length, log.at(-1)]).toEqual([21, 501, '(10 more in the log of this engine)'])
})

it('names the limit that a call would exceed, and what the component logged', async () => {
  const settings = { ...WITH_KEY, limits: { storageBytes: 10 } }
  const http: Script['http'] = (hands) => {
    hands.set('key', 'x'.repeat(99))
    hands.log('a value of 99 bytes')
    return Promise.resolve(text(''))
  }
  const engine = await engineOf({ http }, settings)
  await call(engine, '/')
  expect((await ask(engine)).json()).toMatchObject({
    calls: [{ outcome: 'quota', why: 'limits.storageBytes', log: ['a value of 99 bytes'] }],
  })
})

it.each([
  ['no key', ''],
  ['another key', 'l'.repeat(64)],
])('tells nobody with %s', async (_, key) => {
  const answer = await ask(await engineOf({ http: () => Promise.resolve(text('')) }), undefined, key)
  expect([answer.statusCode, answer.headers['x-engine-error'], answer.headers['www-authenticate']]).toEqual([
    401,
    'unauthorized',
    'Bearer',
  ])
})

it.each(['/engine/%63ontracts/', '//engine/contracts/', '/engine/contracts/%30'])(
  'tells nobody by %s either',
  async (path) => {
    const { engine } = await engineOf({ http: () => Promise.resolve(text('')) })
    const { statusCode } = await engine.app.inject(`${path}${evmAddress(CONTRACT).slice(path.endsWith('/') ? 0 : 1)}`)
    expect([401, 404]).toContain(statusCode)
  },
)

it('tells nobody where the configuration has no key', async () => {
  const answer = await ask(await engineOf({ http: () => Promise.resolve(text('')) }, {}))
  expect(answer.statusCode).toBe(401)
})

it.each([
  ['0x12', 400, 'bad-address', /after \/engine\/contracts\/ must be the address/],
  [`0x${'99'.repeat(20)}`, 404, 'unknown-contract', /contract/],
])('says that there is no contract %s', async (contract, status, code, detail) => {
  const answer = await ask(await engineOf({ http: () => Promise.resolve(text('')) }), contract)
  expect([answer.statusCode, answer.headers['x-engine-error']]).toEqual([status, code])
  expect(answer.json<{ detail: string }>().detail).toMatch(detail)
})

it.each(['POST', 'DELETE', 'OPTIONS'] as const)(
  'answers %s without a key by 401, and lets no other origin call',
  async (method) => {
    const { engine } = await engineOf({ http: () => Promise.resolve(text('')) })
    const url = `/engine/contracts/${evmAddress(CONTRACT)}`
    const preflight = { origin: 'https://app.example', 'access-control-request-method': 'GET' }
    const answer = await engine.app.inject({ method, url, headers: preflight })
    expect([answer.statusCode, answer.headers['x-engine-error']]).toEqual([401, 'unauthorized'])
    const withKey = await engine.app.inject({ method, url, headers: { ...preflight, authorization: `Bearer ${KEY}` } })
    expect([withKey.statusCode, withKey.headers.allow]).toEqual([405, 'GET, HEAD'])
    const read = await engine.app.inject({ url, headers: { authorization: `Bearer ${KEY}` } })
    expect(read.statusCode).toBe(200)
    for (const { headers } of [answer, withKey, read]) {
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
  },
)
