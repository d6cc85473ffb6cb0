/** The site of the documents, as `npm run docs:site` makes it: its pages are found by search, and are for everybody. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ROOT } from '../support/documents.ts'
import { accessibilityFaults, describeInBrowser, PHONE } from './browser.ts'

const BUILD_MS = 600_000
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
  '.json': 'application/json',
}
const PAGES = [
  '/tutorial.html',
  '/',
  '/how-to/production.html',
  '/reference.html',
  '/explanation/issuing-messages.html',
  '/threat-model.html',
]

describeInBrowser('the site of the documents', (openWindow) => {
  let server: Server
  let url = ''
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'vouchsafe-site-'))
    const words = ['build/docs-site.js', folder]
    const env = { ...process.env, DOCS_PLAIN_CODE: 'yes' }
    await promisify(execFile)(process.execPath, words, { cwd: ROOT, env, maxBuffer: 1e8 })
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost')
      const path = decodeURIComponent(pathname.endsWith('/') ? `${pathname}index.html` : pathname)
      try {
        const file = readFileSync(join(folder, path))
        response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream').end(file)
      } catch {
        response.writeHead(404).end()
      }
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }, BUILD_MS)
  afterAll(() => server.close())

  it('is searched, and a page is found by what it says', async () => {
    const { page, faults, requests } = await openWindow()
    await page.goto(url)
    await page.getByRole('button', { name: 'Search' }).first().click()
    await page.getByRole('searchbox').fill('why is my issuer not trusted')
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Add a trust anchor' }).waitFor()
    expect(page.url()).toContain('/how-to/trust-anchor.html')
    expect(faults).toEqual([])
    // Everything comes from the site itself.
    expect(requests.filter((each) => !each.startsWith(url) && !each.startsWith('data:'))).toEqual([])
  })

  it.each([
    ['transaction code', '/issuing.html#transaction-codes'],
    ['revoke a credential', '/issuing.html#revoke-or-suspend-a-credential'],
  ])('finds how to do something before reasons and history: %s', async (words, address) => {
    const { page } = await openWindow()
    await page.goto(url)
    await page.getByRole('button', { name: 'Search' }).first().click()
    await page.getByRole('searchbox').fill(words)
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${address}`)
  })

  it('leads from a document to the code that it names', async () => {
    const { page } = await openWindow()
    await page.goto(`${url}/explanation/issuing-messages.html`)
    await page.getByRole('link', { name: 'proofs.ts' }).click()
    await page.getByRole('heading', { name: 'proofs.ts' }).waitFor()
    expect(await page.locator('main').innerText()).toContain('function readKeyProof')
  })

  it.each(PAGES)('has nothing that shuts people out: %s', async (path) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await openWindow({ colorScheme })
      await page.goto(url + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect([colorScheme, ...(await accessibilityFaults(page))]).toEqual([colorScheme])
    }
  })

  it.each(PAGES)('fits a phone: %s', async (path) => {
    const { page } = await openWindow(PHONE)
    await page.goto(url + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    expect(width).toBeLessThanOrEqual(390)
  })
})
