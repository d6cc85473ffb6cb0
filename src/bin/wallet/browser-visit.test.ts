/** The address that a browser comes back to: one answer, from this machine, at the very path, in time. */
import { request } from 'node:http'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { BrowserVisit } from '../../wallet/context.ts'
import { startBrowserVisit } from './browser-visit.ts'

const shown: string[] = []
const show = (address: string): Promise<void> => Promise.resolve(void shown.push(address))
let visit: BrowserVisit

beforeEach(async () => {
  shown.length = 0
  visit = await startBrowserVisit({ show, seconds: 60 })
})
afterEach(() => visit.close())

/** Returns the status of a request whose Host header fetch would not let us choose. */
function statusAs(host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(`${visit.redirectUri}?code=stolen`, { headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    asked.once('error', reject).end()
  })
}

it('is on this machine alone, and takes the query of the first request as it came', async () => {
  expect(visit.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
  const came = visit.sendPerson('https://issuer.example/authorize?a=b')
  await expect.poll(() => shown).toEqual(['https://issuer.example/authorize?a=b'])
  const response = await fetch(`${visit.redirectUri}?code=a%20b&state=c`)
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(await response.text()).toMatch(/You can close this page/)
  expect(await came).toBe('code=a%20b&state=c')
  expect((await fetch(`${visit.redirectUri}?code=other`)).status).toBe(410)
})

it('refuses another path, method and host, and still takes the right request', async () => {
  const came = visit.sendPerson('https://issuer.example/')
  const { origin } = new URL(visit.redirectUri)
  expect((await fetch(`${origin}/favicon.ico`)).status).toBe(404)
  expect((await fetch(`${visit.redirectUri}/more?code=x`)).status).toBe(404)
  expect((await fetch(`${visit.redirectUri}?code=x`, { method: 'POST' })).status).toBe(405)
  expect(await statusAs('rebound.example')).toBe(404)
  await fetch(`${visit.redirectUri}?code=right`)
  expect(await came).toBe('code=right')
})

it('gives up when nobody comes in time, and listens no more after its end', async () => {
  const short = await startBrowserVisit({ show, seconds: 0.01 })
  await expect(short.sendPerson('https://issuer.example/')).rejects.toMatchObject({ code: 'not_yet' })
  await short.close()
  await expect(fetch(short.redirectUri)).rejects.toThrow(/fetch failed/)
})
