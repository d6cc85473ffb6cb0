/** The endpoints of wallets and of people's browsers: other origins, methods and ids. Interface section 2. */
import { describe, expect, it } from 'vitest'
import { ORIGIN } from '../support/digital-credentials.ts'
import { endpoints, expectError, expectHeaders, startEndpoints } from '../support/endpoints.ts'
import { authorization } from '../support/wire.ts'

const { send, expectNoSecretLogged } = startEndpoints()

describe.each(endpoints.filter(({ browser }) => browser))('$service $method $path', (endpoint) => {
  it('lets no script of another origin call it, and no other method', async () => {
    const origin = { origin: 'https://a.example' }
    for (const method of ['GET', 'OPTIONS', 'DELETE'] as const) {
      const answer = await send(endpoint, method, origin)
      const names = Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))
      expect([method, names]).toEqual([method, []])
      if (method === 'DELETE') expectError(answer, 405, 'method_not_allowed')
    }
  })
})

describe.each(endpoints.filter(({ wallet }) => wallet))('$service $method $path', (endpoint) => {
  const { method, path, page } = endpoint

  it(`may be called from ${page ? 'the origin of its session' : 'any origin'}, also when it refuses`, async () => {
    const answer = await send(endpoint, method, { origin: 'https://a.example' })
    expect(answer.headers['access-control-allow-origin']).toBe(page ? ORIGIN : '*')
    expect(answer.headers['access-control-expose-headers']).toMatch(
      /^WWW-Authenticate, DPoP-Nonce, Retry-After, X-Request-Id, OAuth-Client-Attestation-Challenge$/,
    )
    expect(answer.headers['access-control-allow-credentials']).toBe(undefined)
    expectHeaders(answer)
  })

  it('answers the preflight of a browser', async () => {
    const answer = await send(endpoint, 'OPTIONS', {
      origin: 'https://a.example',
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization, content-type, dpop',
    })
    expect([answer.statusCode, answer.body]).toEqual([204, ''])
    expect(answer.headers['access-control-allow-origin']).toBe('*')
    expect(String(answer.headers['access-control-allow-methods']).split(', ')).toContain(method)
    expect(answer.headers['access-control-allow-headers']).toMatch(/Authorization, Content-Type.*DPoP/)
    expectHeaders(answer)
  })

  it('answers another method with 405 and Allow', async () => {
    const answer = await send(endpoint, 'DELETE')
    expectError(answer, 405, 'method_not_allowed')
    const allowed = String(answer.headers.allow).split(', ')
    expect(allowed).toContain(method)
    expect(allowed).not.toContain('DELETE')
  })

  it('needs no API key, and one does no harm', async () => {
    // The credential endpoints take an access token in this place.
    if (/credential|notification/.test(path) && method === 'POST') return
    const without = await send(endpoint, method)
    const withKey = await send(endpoint, method, authorization)
    expect(withKey.statusCode).toBe(without.statusCode)
  })

  it('is not found under an id that nobody has, however it is written', async () => {
    if (!path.includes('SESSION')) return
    const ids = [
      'unknown',
      '%00',
      'a%2Fb',
      '%2e%2e%2fx',
      '%F0%9F%92%A9',
      "'--",
      'a'.repeat(5000),
      '__proto__',
      '%zz',
      '%F0%9F',
    ]
    for (const id of ids) {
      const type = endpoint.body === undefined ? {} : { 'content-type': endpoint.body }
      const answer = await send({ ...endpoint, path: path.replace('SESSION', id) }, method, type, endpoint.body && '')
      expect([id, answer.statusCode < 500 && answer.statusCode >= 400]).toEqual([id, true])
      // A session is asked for after the access token, and an id that cannot be one before.
      const isAsked = path.includes('/notification/') && answer.statusCode === 401
      if (isAsked) expectError(answer, 401, 'invalid_token')
      else if (!/token-endpoint|auth\/par/.test(path)) expectError(answer, 404, 'not_found')
      expect(answer.json<{ error_description: string }>().error_description).toMatch(/^[ !#-[\]-~]+$/)
    }
  })
})

it('writes no key, code or stack into an error', () => {
  expectNoSecretLogged()
})
