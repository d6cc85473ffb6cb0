/**
 * People who sign in, in a browser: at the issuer by a real OpenID Connect provider or by a credential that they show,
 * and at the console.
 */
import { randomBytes } from 'node:crypto'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fastify } from 'fastify'
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished, vi } from 'vitest'
import { refusalPage, setBrowserPage } from '../../src/http/browser-page.ts'
import { PAGE_LANGUAGES } from '../../src/http/page-language.ts'
import {
  noCredentialPage,
  presentationPage,
  signInPage,
  stoppedPage,
  walletPage,
} from '../../src/issuer/authorization-endpoint/sign-in-page.ts'
import { ProtocolError } from '../../src/protocol/error.ts'
import type { WalletContext } from '../../src/wallet/context.ts'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { startCommand, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { sendBackTo, startProvider } from '../support/oidc-provider.ts'
import { presentedDatasets } from '../support/presenting.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { openidConnect } from '../support/sign-in.ts'
import { memoryStore } from '../support/wallet.ts'
import { authorization, configuration, dataset, dcqlQuery } from '../support/wire.ts'
import { describeInBrowser, faultsForSomebody, type OpenPage, PHONE } from './browser.ts'

vi.setConfig({ testTimeout: 600_000 })

const SCOPE = 'student_card'
const SECRET = 'a secret for trying'
const VARIANTS = [{}, { ...PHONE, colorScheme: 'dark' as const }]

describeInBrowser('a person who signs in', (openWindow) => {
  it('at the issuer by a provider receives the credential, or cancels, and the wallet learns either', async () => {
    const { url, ports } = await startSigningInIssuer()
    const asking = await askByCommand(url)
    const opened = await openWindow()
    const { page, faults } = opened
    await page.goto(asking.address)
    await lookAt(opened)
    expect(await page.locator('h1').innerText()).toContain('Student card for your wallet')
    expect(await page.locator('main, body').first().innerText()).toContain('a program on this device')
    await page.getByRole('link', { name: `Sign in at localhost:${ports.provider}` }).click()
    await signInAtProvider(page, 'ada')
    expect((await asking.receiving.ended).status).toBe(0)
    const card = await cardOf(asking.home)
    for (const text of ['Lovelace', 'ada@example.edu']) expect(card).toContain(text)
    expect(faults).toEqual([])

    const again = await askByCommand(url)
    await page.goto(again.address)
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page.getByRole('link', { name: 'Back to the wallet' }).click()
    const { status, stderr } = await again.receiving.ended
    expect([status, stderr]).toEqual([1, expect.stringContaining('access_denied')])
  })

  it('at the issuer by another credential opens the wallet by a link, and comes back with a new one', async () => {
    const ports = { verifier: await freePort(), issuer: await freePort() }
    const verifierUrl = `http://127.0.0.1:${ports.verifier}`
    const url = `http://127.0.0.1:${ports.issuer}`
    const verifierHome = await serviceDirectory('verifier', { port: ports.verifier, baseUrl: verifierUrl })
    // The query has to be there before the issuer, whose settings name it; and the certificate before the verifier.
    const issuerHome = await serviceDirectory('issuer', { port: ports.issuer, baseUrl: url })
    copyFileSync(join(issuerHome, 'issuer.pem'), join(verifierHome, 'anchors', 'issuer.pem'))
    await run('verifier', verifierHome)
    const query = await post(`${verifierUrl}/verification-query/create`, { dcql_query: dcqlQuery })
    const presented = { verificationQueryId: query, datasets: presentedDatasets }
    const presentation = { verifier: verifierUrl, apiKey: API_KEY, ...presented }
    addSettings(issuerHome, { authentication: { presentation } })
    await run('issuer', issuerHome)
    const id = await post(`${url}/credential-configuration/create`, { ...configuration, scope: SCOPE })
    const offer = { credential_configurations: [id], credential_dataset: dataset }
    const { credential_offer_uri: link } = JSON.parse(await post(`${url}/issuance/oid4vci/new-session`, offer)) as {
      readonly credential_offer_uri: string
    }
    const wallet = newWallet()
    await receiveOffer(wallet, link)

    const asking = await askByCommand(url)
    const opened = await openWindow()
    const { page, faults } = opened
    await page.goto(asking.address)
    await lookAt(opened)
    await page.getByRole('link', { name: 'Show a credential from your wallet' }).click()
    const wish = await page.getByRole('link', { name: 'Open the wallet' }).getAttribute('href')
    await lookAt(opened)
    const { redirect_uri: back = '' } = await sendPresentation(wallet, await planPresentation(wallet, wish ?? ''))
    await page.goto(back)
    expect((await asking.receiving.ended).status).toBe(0)
    expect(await cardOf(asking.home)).toContain('Example Library')
    expect(faults).toEqual([])
  })

  it.each(PAGE_LANGUAGES)('reads every page in "%s"', async (locale) => {
    const [url, paths] = await servePages()
    const opened = await openWindow(locale === 'en' ? { locale } : { ...PHONE, locale })
    for (const path of paths) {
      await opened.page.goto(url + path)
      expect(await opened.page.locator('html').getAttribute('lang')).toBe(locale)
      // The pages have the same parts and colours in each language: what has room on a phone has it at a desk.
      if (locale === 'en') await lookAt(opened)
      else expect(await faultsForSomebody(opened)).toEqual([])
    }
  })

  it.each(['Immatrikulationsbescheinigung', 'x'.repeat(300)])(
    'need not scroll to the side for the name %s',
    async (name) => {
      const server = fastify()
      onTestFinished(() => server.close())
      const paragraphs = [`<strong>${name}</strong>`, `<small><code>${name}</code></small>`, name]
      const links = [{ text: `Sign in at ${name}`, address: '/' }]
      server.get('/', (_request, reply) =>
        setBrowserPage(reply, () => ({ title: `Example: ${name}`, paragraphs, links })),
      )
      const opened = await openWindow({ viewport: { width: 320, height: 800 } })
      await opened.page.goto(await server.listen({ host: '127.0.0.1', port: 0 }))
      expect(await faultsForSomebody(opened)).toEqual([])
    },
  )

  it('at the console by a provider gets in when the operator allows it, and else is told why not', async () => {
    const ports = { provider: await freePort(), issuer: 1, console: await freePort() }
    await startProvider(ports, sendBackTo(`http://127.0.0.1:${ports.console}/sign-in/answer`))
    const words = ['--issuer', 'http://127.0.0.1:1', '--sign-in', `http://localhost:${ports.provider}`]
    const client = ['--client-id', 'vouchsafe', '--allow', 'email=ada@example.edu', '--port', `${ports.console}`]
    const env = { VOUCHSAFE_ISSUER_API_KEY: 'a-key', VOUCHSAFE_CONSOLE_CLIENT_SECRET: SECRET }
    const { child } = startCommand(['console', ...words, ...client], { env })
    onTestFinished(() => void child.kill('SIGKILL'))
    const address = `http://127.0.0.1:${ports.console}/`
    await vi.waitUntil(
      () =>
        fetch(address)
          .then(() => true)
          .catch(() => false),
      { timeout: 30_000 },
    )
    for (const options of VARIANTS) {
      const opened = await openWindow(options)
      await opened.page.goto(address)
      await opened.page.getByRole('link', { name: 'Sign in' }).waitFor()
      expect(await faultsForSomebody(opened)).toEqual([])
    }
    for (const [login, heading] of [
      ['ada', 'Overview'],
      ['eve', 'This account may not enter'],
    ] as const) {
      const opened = await openWindow()
      await opened.page.goto(address)
      await opened.page.getByRole('link', { name: 'Sign in' }).click()
      await signInAtProvider(opened.page, login)
      await opened.page.getByRole('heading', { name: heading }).waitFor()
      expect(await faultsForSomebody(opened)).toEqual([])
    }
  })
})

/** Serves each page that an issuer has for people, and returns the address and the paths. */
async function servePages() {
  const server = fastify()
  onTestFinished(() => server.close())
  const request = {
    clientId: 'com.example.wallet',
    redirectUri: 'com.example.wallet:/callback',
    codeChallenge: '',
    configurationIds: [],
  }
  const names = { issuerNames: [{ name: 'University' }], credentialNames: [[{ name: 'Card' }], [{ name: 'בית' }]] }
  const pages = {
    '/sign-in': signInPage({ id: '', request, ...names, provider: 'login.example.edu' }),
    '/show': signInPage({ id: '', request, ...names, provider: undefined }),
    '/wallet': walletPage(request, '/'),
    '/presentation': presentationPage('haip-vp://?request_uri=x'),
    '/none': noCredentialPage(request, '/', 'these claims are missing: birthdate'),
    '/stopped': stoppedPage(request, '/'),
  }
  for (const [path, page] of Object.entries(pages)) server.get(path, (_, reply) => setBrowserPage(reply, page))
  for (const code of ['gone', 'temporarily_unavailable'] as const) {
    const error = new ProtocolError(code, 'this is over')
    server.get(`/${code}`, (visit, reply) => setBrowserPage(reply, refusalPage(error, visit)))
  }
  const url = await server.listen({ host: '127.0.0.1', port: 0 })
  return [url, [...Object.keys(pages), '/gone', '/temporarily_unavailable']] as const
}

/** Starts an issuer that signs people in at a real provider. */
async function startSigningInIssuer() {
  const ports = { provider: await freePort(), issuer: await freePort() }
  const url = `http://127.0.0.1:${ports.issuer}`
  await startProvider(ports, sendBackTo(`${url}/auth/sign-in/answer`))
  const provider = { issuer: `http://localhost:${ports.provider}`, clientId: 'vouchsafe', clientSecret: SECRET }
  const authentication = { openidConnect: { ...openidConnect, ...provider } }
  await run('issuer', await serviceDirectory('issuer', { port: ports.issuer, baseUrl: url, authentication }))
  await post(`${url}/credential-configuration/create`, { ...configuration, scope: SCOPE })
  return { url, ports }
}

/** Signs in at the forms of the provider, and agrees. */
async function signInAtProvider(page: Page, login: string): Promise<void> {
  await page.locator('input[name=login]').fill(login)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

/** Looks at a page as somebody at a desk does, and somebody with a phone and dark colours. */
async function lookAt(opened: OpenPage): Promise<void> {
  const { page } = opened
  for (const [colorScheme, width] of [
    ['light', 1000],
    ['dark', 390],
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    expect(await faultsForSomebody(opened)).toEqual([])
  }
}

/**
 * Starts the reference wallet as a command that asks for a credential, and returns the address that it wants opened.
 */
async function askByCommand(issuer: string) {
  const home = temporaryDirectory()
  const words = ['wallet', 'receive', '--issuer', issuer, '--scope', SCOPE, '--no-browser']
  const receiving = startCommand(words, { env: { VOUCHSAFE_WALLET_HOME: home } })
  onTestFinished(() => void receiving.child.kill('SIGKILL'))
  let output = ''
  receiving.child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const address = await vi.waitUntil(() => /http:\S+\/auth\/authorize\?\S+/.exec(output)?.[0], { timeout: 300_000 })
  return { home, receiving, address }
}

/** Returns what the wallet of a directory shows of its one credential. */
async function cardOf(home: string): Promise<string> {
  const env = { VOUCHSAFE_WALLET_HOME: home }
  const list = JSON.parse((await vouchsafe(['wallet', 'list', '--json'], { env })).stdout) as {
    readonly credentials: readonly { readonly id: string }[]
  }
  return (await vouchsafe(['wallet', 'show', list.credentials[0]?.id ?? '', '--json'], { env })).stdout
}

async function run(service: 'issuer' | 'verifier', directory: string): Promise<void> {
  const { child } = await start(service, directory)
  onTestFinished(() => void child.kill('SIGKILL'))
}

async function post(url: string, body: object): Promise<string> {
  const headers = { ...authorization, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  expect([answer.ok, text]).toEqual([true, text])
  return text
}

function newWallet(): WalletContext {
  return { fetch, now: () => new Date(), random: randomBytes, store: memoryStore(new Map()) }
}

function addSettings(directory: string, more: object): void {
  const file = join(directory, 'conf', 'server.json')
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...more }))
}
