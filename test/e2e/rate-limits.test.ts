/** Rate limits, which are there when the configuration sets them. */
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { API_KEY, type Services, startServices } from '../support/services.ts'

describe.each(['issuer', 'verifier'] as const)('the %s', (service) => {
  let services: Services
  const start = (rateLimits?: object) => startServices({ [service]: rateLimits ? { rateLimits } : {} })
  const ask = (url: string, from: string, more: Partial<InjectOptions> = {}) =>
    services[service].inject({ url, remoteAddress: from, ...more })
  const statuses = async (times: number, run: () => Promise<{ statusCode: number }>) => {
    const all: number[] = []
    for (let i = 0; i < times; i++) all.push((await run()).statusCode)
    return all
  }
  const walletPath =
    service === 'issuer' ? '/issuance/oid4vci/credential-offer/a' : '/presentation/oid4vp/authorization-request/a'
  const adminPath = service === 'issuer' ? '/issuance/oid4vci/status/a' : '/presentation/oid4vp/status/a'
  const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

  describe('with limits', () => {
    beforeAll(async () => {
      services = await start({ walletRequestsPerMinute: 5, failedApiKeysPerMinute: 3 })
    })
    afterAll(() => services.close())

    it('answers 429 to a wallet that asks too often, says when to come again, and serves the others', async () => {
      expect(await statuses(6, () => ask(walletPath, '192.0.2.1'))).toEqual([404, 404, 404, 404, 404, 429])
      const refused = await ask(walletPath, '192.0.2.1')
      expect(refused.headers['retry-after']).toBe('12')
      expect(refused.json()).toMatchObject({
        error: 'too_many_requests',
        error_description: 'too many requests from this address; try again in 12 seconds',
      })
      expect(refused.headers['access-control-allow-origin']).toBe('*')
      expect((await ask(walletPath, '192.0.2.2')).statusCode).toBe(404)
      services.clock.now = new Date(services.clock.now.getTime() + 12_000)
      expect(await statuses(2, () => ask(walletPath, '192.0.2.1'))).toEqual([404, 429])
    })

    it('does not count what is not a wallet, and does not believe X-Forwarded-For', async () => {
      expect(await statuses(9, () => ask('/health/live', '192.0.2.3'))).toEqual(Array(9).fill(200))
      expect(await statuses(9, () => ask(adminPath, '192.0.2.3', withKey(API_KEY)))).toEqual(Array(9).fill(404))
      const headers = { 'x-forwarded-for': '203.0.113.7' }
      await statuses(5, () => ask(walletPath, '192.0.2.3', { headers }))
      expect((await ask(walletPath, '192.0.2.3')).statusCode).toBe(429)
    })

    it('does not count a request without a key, as browsers send them, as a wrong key', async () => {
      expect(await statuses(9, () => ask(adminPath, '192.0.2.6'))).toEqual(Array(9).fill(401))
      expect((await ask(adminPath, '192.0.2.6', withKey(API_KEY))).statusCode).toBe(404)
    })

    it('listens to no key, right or wrong, after too many wrong ones, and says nothing about it', async () => {
      const guess = () => ask(adminPath, '192.0.2.4', withKey('guess'))
      expect(await statuses(4, guess)).toEqual([401, 401, 401, 429])
      const right = await ask(adminPath, '192.0.2.4', withKey(API_KEY))
      const wrong = await guess()
      expect([right.statusCode, right.body]).toEqual([wrong.statusCode, wrong.body])
      // Also where there is no such method.
      expect((await ask(adminPath, '192.0.2.4', { method: 'DELETE', ...withKey(API_KEY) })).statusCode).toBe(429)
      expect((await ask(adminPath, '192.0.2.5', withKey(API_KEY))).statusCode).toBe(404)
      services.clock.now = new Date(services.clock.now.getTime() + 60_000)
      expect((await ask(adminPath, '192.0.2.4', withKey(API_KEY))).statusCode).toBe(404)
    })
  })

  describe('behind a proxy', () => {
    beforeAll(async () => {
      services = await start({ walletRequestsPerMinute: 1, trustedProxies: ['10.0.0.0/8', '2001:db8::1'] })
    })
    afterAll(() => services.close())

    it('counts for the address that the proxy was called from, and not for one that the caller made up', async () => {
      const from = (chain: string) => ask(walletPath, '10.0.0.1', { headers: { 'x-forwarded-for': chain } })
      expect((await from('203.0.113.1')).statusCode).toBe(404)
      expect((await from('203.0.113.2')).statusCode).toBe(404)
      expect((await from('198.51.100.9, 203.0.113.1')).statusCode).toBe(429)
      // Requests by two proxies, and by somebody who is not a proxy.
      expect((await from('203.0.113.3, 10.9.9.9')).statusCode).toBe(404)
      expect((await from('203.0.113.3')).statusCode).toBe(429)
      const headers = { 'x-forwarded-for': '203.0.113.4' }
      expect((await ask(walletPath, '192.0.2.9', { headers })).statusCode).toBe(404)
      expect((await ask(walletPath, '192.0.2.9', { headers: { 'x-forwarded-for': '203.0.113.5' } })).statusCode).toBe(
        429,
      )
    })
  })

  it('limits nothing unless it is told to, and an API key never', async () => {
    services = await start()
    expect(await statuses(50, () => ask(walletPath, '192.0.2.1'))).toEqual(Array(50).fill(404))
    expect(await statuses(50, () => ask(adminPath, '192.0.2.1'))).toEqual(Array(50).fill(401))
    await services.close()
    services = await start({ walletRequestsPerMinute: 1, failedApiKeysPerMinute: 1 })
    expect(await statuses(50, () => ask(adminPath, '192.0.2.1', withKey(API_KEY)))).toEqual(Array(50).fill(404))
    services.clock.now = new Date('2100-01-01T00:00:00Z')
    expect((await ask(adminPath, '192.0.2.1', withKey(API_KEY))).statusCode).toBe(404)
    await services.close()
  })
})
