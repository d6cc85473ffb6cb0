/** The three files in docs/element.md make an application, in which a wallet answers the code that the page shows. */
import { execFile, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { createIssuerClient } from '../../sdk/server/index.ts'
import { freePort } from '../support/free-port.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { accessibilityFaults, describeInBrowser, readCode } from './browser.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/element.md'), 'utf8')
const VCT = 'urn:example.edu:student-card'

/** The snippets of the page, in its order. */
const [
  SERVER = '',
  HTML = '',
  SCRIPT = '',
  START = '',
  WALLET = '',
  SESSION = '',
  ANSWER = '',
  POLICY = '',
  ATTRIBUTE = '',
  BY_BROWSER = '',
  STYLE = '',
] = [...PAGE.matchAll(/```(?:js|html|css|sh)\n([\s\S]*?)```/g)].map(([, code = '']) => code)

describeInBrowser('docs/element.md', (openWindow) => {
  it('makes a page that asks, shows the answer, and asks again', { timeout: 600_000 }, async () => {
    const { verifierUrl, home } = await startServices()
    const url = await startApplication(verifierUrl)
    const { page, faults, requests } = await openWindow()
    await page.goto(url)
    await page.getByRole('button', { name: 'Prove that you are a student' }).click()
    await page.getByRole('img').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('timer').waitFor()
    const link = (await readCode(page)) ?? ''
    expect(link).toMatch(/^haip-vp:/)
    const [toDevice, toWallet] = ['My wallet is on this device', 'Open your wallet'] as const
    expect(PAGE).toContain(`**${toDevice}** and then **${toWallet}**`)
    await page.getByRole('button', { name: toDevice }).click()
    expect(await page.getByRole('link', { name: toWallet }).getAttribute('href')).toBe(link)
    expect(await runWallet('present', link, home)).toContain('accepted it')
    await page.getByText('You pay half, Ada.').waitFor()
    expect(await page.locator('vouchsafe-request').getByRole('status').innerText()).toBe(
      'Done: your credential was accepted',
    )
    // A screen reader says what the server decided.
    await page.getByRole('status').filter({ hasText: 'You pay half, Ada.' }).waitFor()
    expect(faults).toEqual([])
    expect(requests.filter((each) => !each.startsWith(url))).toEqual([])
    // The name is for the browser that asked, and for no other.
    expect(await (await fetch(`${url}/request`)).json()).toEqual({ status: 'expired' })

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
    expect(await page.locator('#discount').innerText()).toBe('')

    await page.route('**/request', (route) => route.abort())
    await page.locator('vouchsafe-request').evaluate((element) => element.dispatchEvent(new CustomEvent('renew')))
    await page.getByText('That does not work now. Try again later.').waitFor()
    expect(await page.locator('vouchsafe-request').isHidden()).toBe(true)
  })

  it('makes a page whose browser finds the wallet', { timeout: 600_000 }, async () => {
    const { verifierUrl, home } = await startServices()
    const url = await startApplication(verifierUrl, true)
    const { page, faults } = await openWindow()
    await page.goto(url)
    await page.getByRole('button', { name: 'Prove that you are a student' }).click()
    const [ask, other] = ['Use a wallet', 'Another way'] as const
    for (const name of [ask, other]) {
      expect(PAGE).toContain(`**${name}**`)
      await page.getByRole('button', { name }).waitFor()
    }
    const address = await page.locator('vouchsafe-request').getAttribute('digital-credentials')
    const command = BY_BROWSER.replace(/'http:.*…'/, `'${address}'`).replace('http://localhost:3000', url)
    expect(await runLine(`${command.trim()} --yes`, home)).toContain('accepted it')
    await page.getByText('You pay half, Ada.').waitFor()
    expect(faults).toEqual([])
  })
})

/** Starts both services, and makes a wallet with a student card. */
async function startServices(): Promise<{ readonly verifierUrl: string; readonly home: string }> {
  const services = { issuer: await directoryOf('issuer'), verifier: await directoryOf('verifier') }
  copyFileSync(join(services.issuer, 'issuer.pem'), join(services.verifier, 'anchors', 'issuer.pem'))
  const issuerUrl = await startService('issuer', services.issuer)
  const verifierUrl = await startService('verifier', services.verifier)
  const home = mkdtempSync(join(tmpdir(), 'vouchsafe-home-'))
  expect(await runWallet('receive', await offerOf(issuerUrl), home)).toContain('Received and kept')
  return { verifierUrl, home }
}

async function directoryOf(name: 'issuer' | 'verifier'): Promise<string> {
  const port = await freePort()
  return serviceDirectory(name, { port, baseUrl: `http://127.0.0.1:${port}` })
}

async function startService(name: 'issuer' | 'verifier', directory: string): Promise<string> {
  const { child, url } = await start(name, directory)
  onTestFinished(() => void child.kill('SIGKILL'))
  return url
}

/** Runs the line of the page for the wallet, where nobody sits at the terminal to agree. */
async function runWallet(verb: 'receive' | 'present', link: string, home: string): Promise<string> {
  const line = WALLET.split('\n').find((each) => each.includes(`wallet ${verb} `)) ?? ''
  const command = line.replace(/'haip-v.*…'/, `'${link}' ${verb === 'present' ? '--yes' : ''}`)
  expect(command).toContain(link)
  return runLine(command, home)
}

async function runLine(line: string, home: string): Promise<string> {
  const command = line.replace('npx vouchsafe', `node '${join(ROOT, 'dist/vouchsafe.cjs')}'`)
  return (await promisify(execFile)('sh', ['-c', `${command} --home '${home}'`])).stdout
}

/** Returns the link of an offer of a student card. */
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

/**
 * Starts the application of the page as somebody would who has installed the package, with what the page says about
 * browsers that find the wallet, or without it.
 */
async function startApplication(verifierUrl: string, isByBrowser = false): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-page-'))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(ROOT, join(directory, 'node_modules', 'vouchsafe'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const changes = isByBrowser ? browserChanges(url) : []
  const change = (text: string): string => changes.reduce((made, [from, to]) => made.replace(from, () => to), text)
  const files = {
    'application.mjs': change(SERVER).replace('listen(3000)', `listen(${port})`),
    'page.html': HTML,
    'page.js': change(SCRIPT),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  const command = START.replace('http://localhost:8081', verifierUrl)
    .replace('VERIFIER_API_KEY=…', `VERIFIER_API_KEY=${API_KEY}`)
    .replace('node application.mjs', 'exec node application.mjs')
  const child = spawn('sh', ['-c', command], { cwd: directory, stdio: 'inherit' })
  onTestFinished(() => void child.kill('SIGKILL'))
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

/** Returns the places of the files that a page with the Digital Credentials API changes, and what stands there. */
function browserChanges(url: string): readonly (readonly [RegExp, string])[] {
  return [
    [/const \{ session_id, request_uri \} = .*/, SESSION.replace('http://localhost:3000', url)],
    [/return \{ id, link: request_uri \}/, ANSWER],
    [/response\.setHeader\('Content-Security-Policy.*/, POLICY],
    [/const \{ id, link \} = .*/, ATTRIBUTE],
  ]
}
