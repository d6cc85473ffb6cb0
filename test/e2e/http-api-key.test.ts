/** The endpoints of applications: the API key, and the other ways to call them. Interface section 2. */
import { describe, expect, it } from 'vitest'
import { endpoints, expectError, expectHeaders, startEndpoints } from '../support/endpoints.ts'
import { API_KEY } from '../support/services.ts'
import { authorization } from '../support/wire.ts'

const { send, expectNoSecretLogged } = startEndpoints()
const applicationEndpoints = endpoints.filter(({ wallet, browser }) => !wallet && !browser)

function expectChallenge(answer: Awaited<ReturnType<typeof send>>): void {
  expectError(answer, 401, 'unauthorized')
  expect(answer.headers['www-authenticate']).toBe('Bearer')
  expect(answer.headers['access-control-allow-origin']).toBe(undefined)
}

describe.each(applicationEndpoints)('$service $method $path', (endpoint) => {
  const { method } = endpoint
  const json = { 'content-type': 'application/json' }

  it.each([
    ['none', undefined],
    ['an empty one', ''],
    ['Bearer alone', 'Bearer'],
    ['another key', `Bearer ${'x'.repeat(64)}`],
    ['a part of the key', `Bearer ${API_KEY.slice(1)}`],
    ['the key and more', `Bearer ${API_KEY}k`],
    ['the label', 'Bearer test'],
    ['the key by Basic', `Basic ${Buffer.from(`user:${API_KEY}`).toString('base64')}`],
    ['the key without a scheme', API_KEY],
    ['two keys', `Bearer ${API_KEY}, Bearer ${API_KEY}`],
    ['a member of every object', 'Bearer __proto__'],
    ['a function of every object', 'Bearer constructor'],
  ])('refuses %s as the API key with 401', async (_, header) => {
    expectChallenge(await send(endpoint, method, header === undefined ? {} : { authorization: header }))
  })

  it('decides 401 before anything else about the request', async () => {
    const { path } = endpoint
    const attempts: ReturnType<typeof send>[] = [
      send(endpoint, method, json, '{"a":'),
      send(endpoint, method, json, `{"a":"${'a'.repeat(2 ** 20)}"}`),
      send(endpoint, method, { 'content-type': 'text/html' }, 'a'),
      send(endpoint, method, { 'content-type': 'none' }, 'a'),
      send({ ...endpoint, path: `${path}?api_key=${API_KEY}&access_token=${API_KEY}` }, method),
      send(endpoint, method, { 'x-api-key': API_KEY, cookie: `Authorization=${API_KEY}` }),
      ...(['PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const).map((wrong) => send(endpoint, wrong)),
      send(endpoint, 'PUT', json, '{"a":'),
      send(endpoint, 'PUT', json, `{"a":"${'a'.repeat(2 ** 20)}"}`),
      send(endpoint, 'DELETE', { 'content-type': 'text/html' }, 'a'),
      send({ ...endpoint, path: path.replace('credential', '%63redential').replace('oid4', '%6fid4') }, 'PUT'),
    ]
    if (/ID|SESSION/.test(path)) {
      for (const id of ['%zz', '%00', 'a%2Fb', 'a'.repeat(5000), '%F0%9F']) {
        attempts.push(send({ ...endpoint, path: path.replace(/ID|SESSION/, id) }, method))
      }
    }
    for (const answer of await Promise.all(attempts)) expectChallenge(answer)
  })

  it('takes the key, whatever the case of Bearer', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
      const answer = await send(endpoint, method, { authorization: `${scheme} ${API_KEY}` })
      expect(answer.statusCode).not.toBe(401)
      expectHeaders(answer)
    }
  })

  it('lets no other origin call it', async () => {
    const origin = { origin: 'https://a.example', ...authorization }
    const preflight = { ...origin, 'access-control-request-method': method }
    for (const answer of [
      await send(endpoint, method, origin),
      await send(endpoint, 'OPTIONS', preflight),
      await send(endpoint, 'DELETE', origin),
    ]) {
      const names = Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))
      expect(names).toEqual([])
    }
  })

  it('answers another method with 405 and Allow', async () => {
    const answer = await send(endpoint, 'DELETE', { ...authorization, ...json }, '{')
    expectError(answer, 405, 'method_not_allowed')
    expect(String(answer.headers.allow).split(', ')).toContain(method)
  })
})

it.each([
  ['issuer', '/credential-configuration/create', 'POST'],
  ['issuer', '/credential-configuration/create?format=dc%2Bsd-jwt', 'POST'],
  ['verifier', '/verification-query/create', 'POST'],
] as const)(
  'answers GET of the %s at %s with 405, and not as a GET of the id "create"',
  async (service, path, allowed) => {
    const endpoint = { service, path } as (typeof endpoints)[number]
    const answer = await send(endpoint, 'GET', authorization)
    expectError(answer, 405, 'method_not_allowed')
    expect(answer.headers.allow).toBe(`${allowed}, OPTIONS`)
    expectError(await send(endpoint, 'GET', {}), 401, 'unauthorized')
  },
)

it('writes no key, code or stack into an error', () => {
  expectNoSecretLogged()
})
