/**
 * The first page of the console as time goes on: all is well, a service goes away and comes back, and nobody is
 * disturbed.
 */
import type { ChildProcess } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { authorization, dcqlQuery } from '../support/wire.ts'
import { describeInBrowser, faultsForSomebody, PHONE } from './browser.ts'
import { type ConsoleCommand, startConsoleCommand } from './console-page.ts'

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

/** A certificate that ends within a month is to be looked at. */
const YEAR_DAYS = 365

describeInBrowser('the overview', (openWindow) => {
  const homes: Record<'issuer' | 'verifier', string> = { issuer: '', verifier: '' }
  const urls: Record<'issuer' | 'verifier', string> = { issuer: '', verifier: '' }
  const running = new Map<string, ChildProcess>()
  let command: ConsoleCommand

  const run = async (name: 'issuer' | 'verifier'): Promise<void> => {
    const { child } = await start(name, homes[name])
    running.set(name, child)
  }
  beforeAll(async () => {
    for (const name of ['issuer', 'verifier'] as const) {
      const port = await freePort()
      urls[name] = `http://127.0.0.1:${port}`
      homes[name] = await serviceDirectory(name, { port, baseUrl: urls[name] }, YEAR_DAYS)
    }
    copyFileSync(join(homes.issuer, 'issuer.pem'), join(homes.verifier, 'anchors', 'issuer.pem'))
    await run('issuer')
    await run('verifier')
    command = await startConsoleCommand(urls.issuer, urls.verifier)
  })
  afterAll(() => {
    for (const child of [...running.values(), command.child]) child.kill('SIGKILL')
  })

  const post = (path: string, body: object) =>
    fetch(urls.verifier + path, {
      method: 'POST',
      headers: { ...authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  it('says that everything is well, counts a session that starts meanwhile, and leaves the focus where it is', async () => {
    const opened = await command.open(openWindow, 'overview', PHONE)
    const { page } = opened
    await page.getByText('Everything is well.').waitFor()
    await page.locator('#verifier').getByText('No session was started in the last 24 hours.').waitFor()
    expect(await faultsForSomebody(opened)).toEqual([])

    const link = page.locator('#verifier').getByRole('link', { name: 'See them', exact: true })
    await link.focus()
    await page.evaluate(() => {
      const said: string[] = []
      const status = document.querySelector('[role=status]')
      Object.assign(globalThis, { said })
      if (status !== null)
        new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true, subtree: true })
    })
    const query = await (await post('/verification-query/create', { dcql_query: dcqlQuery })).text()
    await post('/presentation/oid4vp/new-session', { verification_query_id: query })
    await page.locator('#verifier').getByRole('table', { name: 'Sessions of the last 24 hours' }).waitFor()
    expect(await link.evaluate((node) => node === document.activeElement)).toBe(true)
    // A verdict that has not changed is not said again.
    expect(await page.evaluate('said')).toEqual([])
  })

  it('says which service is down, and that all is well when it is back', async () => {
    const opened = await command.open(openWindow, 'overview')
    const { page } = opened
    await page.getByText('Everything is well.').waitFor()
    running.get('issuer')?.kill('SIGKILL')
    await page.locator('#issuer').getByText('not ready').waitFor({ timeout: 300_000 })
    await page.getByRole('status').getByText('The issuer gives no overview').waitFor({ timeout: 300_000 })
    expect(await page.locator('#verifier').getByText('ready', { exact: true }).count()).toBe(1)
    expect(await faultsForSomebody(opened)).toEqual([])
    await run('issuer')
    await page.getByText('Everything is well.').waitFor({ timeout: 90_000 })
    await page.locator('#issuer').getByText('ready', { exact: true }).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })
})
