/** The bodies that the endpoints of both services take and refuse. Interface section 2. */
import { expect, it } from 'vitest'
import { type Endpoint, endpoints, expectError, startEndpoints } from '../support/endpoints.ts'
import { API_KEY } from '../support/services.ts'
import { authorization, configuration } from '../support/wire.ts'

/** An id or a name with everything that RFC 6749 section 5.2 leaves out. */
const STRANGE = 'a"b\\c\u0000\n\u007f\u00fc\u2028\u{1f600}\ud800'

const { services, send, expectNoSecretLogged } = startEndpoints()
const bodyEndpoints = endpoints.filter(({ body }) => body !== undefined)

it.each(bodyEndpoints)('$service $path takes no other media type', async (endpoint) => {
  const { body, method, malformed } = endpoint
  for (const type of [
    'text/plain',
    'text/html',
    'application/xml',
    'application/jwt',
    'multipart/form-data; boundary=a',
    'none',
    'a/b;;',
    body === 'application/json' ? 'application/x-www-form-urlencoded' : 'application/json',
  ]) {
    const answer = await send(endpoint, method, { ...authorization, 'content-type': type }, '{}')
    if (malformed === undefined) expectError(answer, 415, 'unsupported_media_type')
    else expectError(answer, 400, malformed)
  }
})

it.each(bodyEndpoints)('$service $path takes no compressed body, and says so', async (endpoint) => {
  const { body: type = '', method, malformed } = endpoint
  for (const encoding of ['gzip', 'br', 'identity, gzip', 'x']) {
    const headers = { ...authorization, 'content-type': type, 'content-encoding': encoding }
    const answer = await send(endpoint, method, headers, type === 'application/json' ? '{}' : 'a=b')
    if (malformed === undefined) expectError(answer, 415, 'unsupported_media_type')
    else expectError(answer, 400, malformed)
    expect(answer.headers['accept-encoding']).toBe('identity')
    expect(answer.json<{ error_description: string }>().error_description).toMatch(/Content-Encoding/)
  }
  for (const encoding of ['Identity', '', ' ', `identity, ${' '.repeat(8000)}\t,IDENTITY`]) {
    const headers = { ...authorization, 'content-type': type, 'content-encoding': encoding }
    expect((await send(endpoint, method, headers, '{')).body).not.toContain('Content-Encoding')
  }
})

it.each(bodyEndpoints)('$service $path takes no more than a megabyte', async (endpoint) => {
  const { body = '', method } = endpoint
  const large = body === 'application/json' ? `{"a":"${'a'.repeat(2 ** 20)}"}` : `a=${'a'.repeat(2 ** 20)}`
  expectError(await send(endpoint, method, { ...authorization, 'content-type': body }, large), 413, 'request_too_large')
})

const jsonEndpoints = bodyEndpoints.filter(({ body }) => body === 'application/json')
it.each(jsonEndpoints)('$service $path refuses what is not a JSON object', async (endpoint) => {
  const headers = { ...authorization, 'content-type': 'application/json' }
  const deep = (open: string, close: string) => open.repeat(6e4) + close.repeat(6e4)
  for (const body of [
    '',
    ' ',
    '{',
    '[]',
    'null',
    '1',
    '"a"',
    'true',
    '{"a":1,}',
    "{'a':1}",
    '{"a":NaN}',
    '\ufffe{}',
    deep('[', ']'),
    deep('{"a":[', ']}'),
    '{"__proto__":{}}',
    '{"a":{"b":[{"__proto__":null}]}}',
    '{"a\\u0000":1}',
    '{"constructor":{"prototype":{}}}',
  ]) {
    expectError(await send(endpoint, endpoint.method, headers, body), 400, 'invalid_request')
  }
})

it.each(jsonEndpoints)('$service $path refuses what JSON.parse would change, with its path', async (endpoint) => {
  const headers = { ...authorization, 'content-type': 'application/json' }
  for (const [body, why] of [
    ['{"verification_query_id":"a","verification_query_id":"b"}', 'verification_query_id: this member is there twice'],
    ['{"a":[{"b":{"c":1,"\\u0063":1}}]}', 'a[0].b.c: this member is there twice'],
    ['{"a":{"b":[0,12345678901234567890]}}', 'a.b[1]: this number loses digits; send it as text'],
    ['{"a":1e400}', 'a: this number loses digits; send it as text'],
    ['{"a":0.10000000000000000001}', 'a: this number loses digits; send it as text'],
    [Buffer.from('{"a":"J\u00fcrgen"}', 'latin1'), 'a text is not UTF-8'],
  ] as const) {
    const answer = await send(endpoint, endpoint.method, headers, body)
    expectError(answer, 400, 'invalid_request')
    expect(answer.json<{ error_description: string }>().error_description).toBe(`the request cannot be read: ${why}`)
  }
})

it.each<[string, string, unknown, Endpoint['service']?]>([
  ['an id', '/issuance/oid4vci/new-session', { credential_dataset: {}, credential_configurations: [STRANGE] }],
  ['a name', '/issuance/oid4vci/new-session', { [STRANGE]: 1 }],
  ['a format', '/credential-configuration/create', { format: STRANGE }],
  ['a member', '/credential-configuration/create', { ...configuration, [STRANGE]: 1 }],
  ['a claim', '/credential-configuration/create', { ...configuration, selective_disclosure: [[STRANGE]] }],
  ['an id', '/presentation/oid4vp/new-session', { verification_query_id: STRANGE }, 'verifier'],
  ['a query', '/dcql-query/create', { credentials: [{ id: 'a', format: STRANGE, meta: {} }] }, 'verifier'],
  ['a member', '/verification-query/create', { dcql_query: {}, [STRANGE]: 1 }, 'verifier'],
])('tells %s back to %s in plain characters', async (_, path, body, service = 'issuer') => {
  const headers = { ...authorization, 'content-type': 'application/json' }
  const answer = await send({ service, path }, 'POST', headers, JSON.stringify(body))
  expect(answer.statusCode).toBeGreaterThanOrEqual(400)
  expect(answer.json<{ error_description: string }>().error_description).toMatch(/^[ !#-[\]-~]+$/)
})

const formEndpoints = bodyEndpoints.filter(({ body }) => body === 'application/x-www-form-urlencoded')
it.each(formEndpoints)('$service $path refuses a form that is not UTF-8', async (endpoint) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const body of [Buffer.from('state=J\u00fcrgen', 'latin1'), 'state=J%FCrgen', 'state=%', 'st%ate=', '%C3=1']) {
    const answer = await send(endpoint, endpoint.method, headers, body)
    expectError(answer, 400, 'invalid_request')
    expect(answer.body).toMatch(/UTF-8/)
  }
})

it('has no prototype to pollute', async () => {
  const headers = { ...authorization, 'content-type': 'application/json' }
  for (const { service, path } of jsonEndpoints) {
    await send(
      { service, path },
      'POST',
      headers,
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    )
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  await send(
    { service: 'issuer', path: '/auth/token-endpoint' },
    'POST',
    form,
    '__proto__=polluted&__proto__[polluted]=1',
  )
  expect((Object.prototype as Record<string, unknown>).polluted).toBe(undefined)
})

it.each(['/issuance/oid4vci/nonce', '/issuance/oid4vci/nonce/SESSION', '/credential-configuration/remove/ID'])(
  'POST %s takes no body, and leaves whatever comes',
  async (path) => {
    const bare = await send({ service: 'issuer', path }, 'POST', authorization)
    for (const [type, body] of [
      ['application/json', ''],
      ['application/json', '{}'],
      ['application/json', '{"a":'],
      ['application/x-www-form-urlencoded', ''],
      ['text/plain', 'a'],
      ['', ''],
      ['json', ''],
      ['json', 'a'],
    ] as const) {
      const answer = await send({ service: 'issuer', path }, 'POST', { ...authorization, 'content-type': type }, body)
      expect([type, answer.statusCode]).toEqual([type, bare.statusCode])
    }
    const large = await send({ service: 'issuer', path }, 'POST', authorization, 'a'.repeat(2 ** 20 + 1))
    expectError(large, 413, 'request_too_large')
  },
)

it('logs which library refused a body, and nothing of the body', async () => {
  const { issuer, logLines } = services()
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
  const before = logLines.length
  await issuer.inject({ method: 'POST', url: '/credential-configuration/create', headers, payload: 'claim' })
  const [line = ''] = logLines.slice(before)
  expect(JSON.parse(line)).toMatchObject({ event: 'refused', cause: { name: 'SyntaxError' } })
  expect(line).not.toContain('claim')
})

it('writes no key, code or stack into an error', () => {
  expectNoSecretLogged()
})
