/** The three files in docs/element.md make an application, in which a wallet answers the code that the page shows. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createIssuerClient } from '../../sdk/server/index.ts'
import type { WalletContext } from '../../src/wallet/context.ts'
import { planPresentation, present } from '../../src/wallet/present.ts'
import { receive } from '../../src/wallet/receive.ts'
import { freePort } from '../support/free-port.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { memoryStore } from '../support/wallet.ts'
import { accessibilityFaults, describeInBrowser, readCode } from './browser.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/element.md'), 'utf8')
const VCT = 'https://university.example/student-card'

/** The snippets of the page, in its order: the server, the page, the script, the style. */
const [SERVER = '', HTML = '', SCRIPT = '', STYLE = ''] = [...PAGE.matchAll(/```(?:js|html|css)\n([\s\S]*?)```/g)].map(
  ([, code = '']) => code,
)

describeInBrowser('docs/element.md', (openWindow) => {
  it('makes a page that asks, shows the answer, and asks again', { timeout: 120_000 }, async () => {
    const services = { issuer: await directoryOf('issuer'), verifier: await directoryOf('verifier') }
    copyFileSync(join(services.issuer, 'issuer.pem'), join(services.verifier, 'anchors', 'issuer.pem'))
    const issuerUrl = await startService('issuer', services.issuer)
    const verifierUrl = await startService('verifier', services.verifier)
    const wallet: WalletContext = { fetch, now: () => new Date(), random: randomBytes, store: memoryStore(new Map()) }
    await receive(wallet, await offerOf(issuerUrl))

    const url = await startApplication(verifierUrl)
    const { page, faults, requests } = await openWindow()
    await page.goto(url)
    await page.getByRole('img').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('timer').waitFor()
    const link = (await readCode(page)) ?? ''
    expect(link).toMatch(/^haip-vp:/)
    await present(wallet, await planPresentation(wallet, link))
    await page.getByText('You pay half.').waitFor()
    expect(await page.getByRole('status').innerText()).toBe('Done: your credential was accepted')
    expect(faults).toEqual([])
    expect(requests.filter((each) => !each.startsWith(url))).toEqual([])

    const accent = await page.evaluate((style) => {
      const sheet = new CSSStyleSheet()
      sheet.replaceSync(style)
      document.adoptedStyleSheets.push(sheet)
      const frame = document.querySelector('vouchsafe-request')?.shadowRoot?.querySelector('[part~=frame]')
      return (
        frame && [getComputedStyle(frame).getPropertyValue('--vouchsafe-accent'), getComputedStyle(frame).borderStyle]
      )
    }, STYLE)
    expect(accent).toEqual(['#7b2d8b', 'none'])

    // The page hears `renew` as it does when a person presses the button.
    await page.locator('vouchsafe-request').evaluate((element) => element.dispatchEvent(new CustomEvent('renew')))
    await page.getByRole('img').waitFor()
    expect(await readCode(page)).not.toBe(link)
  })
})

async function directoryOf(name: 'issuer' | 'verifier'): Promise<string> {
  const port = await freePort()
  return serviceDirectory(name, { port, baseUrl: `http://127.0.0.1:${port}` })
}

async function startService(name: 'issuer' | 'verifier', directory: string): Promise<string> {
  const { child, url } = await start(name, directory)
  onTestFinished(() => void child.kill('SIGKILL'))
  return url
}

/** The link of an offer of a student card. */
async function offerOf(url: string): Promise<string> {
  const issuer = createIssuerClient({ url, apiKey: API_KEY })
  const configuration = await issuer.createConfiguration({
    format: 'dc+sd-jwt',
    vct: VCT,
    credential_metadata: { display: [{ name: 'Student card' }], claims: [{ path: ['given_name'], mandatory: true }] },
  })
  const session = await issuer.startSession({
    credential_configurations: [configuration],
    credential_dataset: { given_name: 'Ada' },
  })
  return session.credential_offer_uri
}

/** Starts the application of the page as somebody would who has installed the package. */
async function startApplication(verifierUrl: string): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-page-'))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(ROOT, join(directory, 'node_modules', 'vouchsafe'))
  const port = await freePort()
  const files = {
    'application.mjs': SERVER.replace('listen(3000)', `listen(${port})`),
    'page.html': HTML,
    'page.js': SCRIPT,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  const env = { ...process.env, VERIFIER_URL: verifierUrl, VERIFIER_API_KEY: API_KEY }
  const child = spawn(process.execPath, ['application.mjs'], { cwd: directory, env, stdio: 'inherit' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  await expect
    .poll(() =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    .toBe(true)
  return url
}
