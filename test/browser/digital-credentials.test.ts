/**
 * `<vouchsafe-request>` where the browser can ask a wallet: Chromium with a wallet that the test makes answer, decline
 * or wait.
 */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { textsOf } from '../../sdk/element/texts.ts'
import { type Application, startApplication } from './application.ts'
import { describeInBrowser, faultsForSomebody, PHONE, readCode } from './browser.ts'
import { setVirtualWallet } from './virtual-wallet.ts'

const LINK = 'haip-vp://?request_uri=https%3A%2F%2Fverifier.example.org%2Frequest%2F1&client_id=x509_hash%3Aabc'
const SIGNED = { protocol: 'openid4vp-v1-signed', data: { request: 'e30.e30.AA' } }
const UNKNOWN = { protocol: 'urn:example:protocol', data: {} }
const RESPONSE = { response: 'a.b.c.d.e' }
const STOPPED = 'That was not completed. You can try again.'
/** The argument of a call of the browser. */
interface Asked {
  readonly mediation: string
  readonly digital: { readonly requests: readonly object[] }
}

describeInBrowser('<vouchsafe-request> where the browser can ask a wallet', (openWindow) => {
  let application: Application
  beforeEach(async () => {
    application = await startApplication()
    application.digital = { digital: { requests: [SIGNED, UNKNOWN] } }
  })
  afterEach(() => application.close())

  type Options = BrowserContextOptions & { readonly scheme?: 'light' | 'dark'; readonly language?: string }

  async function open(attributes: Readonly<Record<string, string>> = {}, options: Options = {}) {
    const { scheme = 'light', language = 'en', ...ofWindow } = options
    const opened = await openWindow({ colorScheme: scheme, ...ofWindow })
    const { page } = opened
    await page.addInitScript(noteCalls)
    await setVirtualWallet(page, { action: 'respond', protocol: SIGNED.protocol, response: RESPONSE })
    const all = { link: LINK, 'digital-credentials': '/digital', 'status-url': '/status', ...attributes }
    await page.goto(application.page({ attributes: all, scheme, language }))
    return {
      ...opened,
      ask: page.getByRole('button', { name: 'Use a wallet' }),
      other: page.getByRole('button', { name: 'Another way' }),
      status: page.getByRole('status'),
      link: page.locator('a'),
      code: page.getByRole('img'),
    }
  }

  it('offers the browser first, and code and link behind a button', async () => {
    const { page, ask, other, link, code, status, faults } = await open()
    await ask.waitFor()
    expect([await link.isVisible(), await code.isVisible()]).toEqual([false, false])
    expect(await page.getByText('Scan this code').isVisible()).toBe(false)
    expect(await status.innerText()).toBe('Waiting for your wallet')
    await other.click()
    expect(await other.getAttribute('aria-expanded')).toBe('true')
    expect(await page.getByText('Scan this code with your wallet').isVisible()).toBe(true)
    expect(await readCode(page)).toBe(LINK)
    expect(await link.getAttribute('href')).toBe(LINK)
    await other.click()
    expect([await link.isVisible(), await code.isVisible()]).toEqual([false, false])
    expect(faults).toEqual([])
  })

  it('gives the browser what it allows of the requests, and the verifier what the wallet responds', async () => {
    const { page, ask, status, faults, requests } = await open()
    await ask.click()
    await expect.poll(() => application.posted).toEqual([{ protocol: SIGNED.protocol, data: RESPONSE }])
    expect(await askedOf(page)).toEqual([{ mediation: 'required', digital: { requests: [SIGNED] } }])
    await expect.poll(() => status.innerText()).toBe('One moment …')
    expect(await ask.isVisible()).toBe(false)
    application.answer = { status: 'VERIFICATION_SUCCEEDED' }
    await expect.poll(() => status.innerText()).toBe('Done: your credential was accepted')
    expect(await page.getByRole('button').count()).toBe(0)
    // The request was fetched once, before the click.
    expect(requests.filter((url) => url.endsWith('/digital'))).toHaveLength(2)
    expect(faults).toEqual([])
  })

  it('says that the wallet goes on while the browser asks it', async () => {
    const { page, ask, status } = await open()
    await setVirtualWallet(page, { action: 'wait' })
    await ask.click()
    await expect.poll(() => status.innerText()).toBe('Continue in your wallet')
    await ask.click()
    expect(await askedOf(page)).toHaveLength(1)
  })

  it('lets the person try again after having cancelled, and shows the other ways', async () => {
    const { page, ask, status, link, code } = await open()
    await setVirtualWallet(page, { action: 'decline' })
    await ask.click()
    await expect.poll(() => status.innerText()).toBe(STOPPED)
    expect([await ask.isVisible(), await link.isVisible(), await code.isVisible()]).toEqual([true, true, true])
    expect(application.posted).toEqual([])
    await setVirtualWallet(page, { action: 'respond', protocol: SIGNED.protocol, response: RESPONSE })
    await ask.click()
    await expect.poll(() => application.posted).toHaveLength(1)
  })

  it('says that it came to nothing where the verifier takes no response, until the application says more', async () => {
    application.receipt = 400
    const { page, ask, status } = await open()
    const warnings = noteWarnings(page)
    await ask.click()
    await expect.poll(() => status.innerText()).toBe(STOPPED)
    expect(warnings).toEqual([expect.stringContaining('status 400 {"error":"no"}')])
    application.answer = { status: 'VERIFICATION_FAILED' }
    await expect.poll(() => status.innerText()).toBe('Your credential was not accepted')
  })

  it('goes where the verifier sends the browser, as a wallet would', async () => {
    application.receipt = { redirect_uri: `${application.url}/done?response_code=1` }
    const { page, ask } = await open()
    await ask.click()
    await page.waitForURL('**/done?response_code=1')
  })

  it('goes nowhere but to a page', async () => {
    application.receipt = { redirect_uri: 'javascript:attacked=1' }
    const { page, ask, status, faults } = await open()
    await ask.click()
    await expect.poll(() => status.innerText()).toBe('One moment …')
    expect(await page.evaluate(() => 'attacked' in globalThis)).toBe(false)
    expect(faults).toEqual([])
  })

  it('offers nothing else for a session without a link', async () => {
    const { page, ask, status } = await open({ link: '' })
    await ask.waitFor()
    expect(await page.getByRole('button').count()).toBe(1)
    await setVirtualWallet(page, { action: 'decline' })
    await ask.click()
    await expect.poll(() => status.innerText()).toBe(STOPPED)
    expect(await page.getByRole('button').count()).toBe(1)
  })

  it('ends with the session, and the browser stops asking', async () => {
    const { page, ask, status } = await open()
    const warnings = noteWarnings(page)
    await setVirtualWallet(page, { action: 'wait' })
    await ask.click()
    application.answer = { status: 'EXPIRED' }
    await expect.poll(() => status.innerText()).toBe('The time has run out')
    await expect.poll(() => page.evaluate(() => (globalThis as unknown as { ended: string }).ended)).toBe('AbortError')
    expect(await page.getByRole('button').allInnerTexts()).toEqual(['Try again'])
    // A call that the element ends is no failure.
    expect(warnings).toEqual([])
  })

  it('is used by the keyboard alone, and never loses the focus', async () => {
    const { page, ask, status } = await open()
    await ask.waitFor()
    const focused = () =>
      page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.getAttribute('part') ?? 'nothing')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('ask')
    await page.keyboard.press('Enter')
    await expect.poll(() => status.innerText()).toBe('One moment …')
    expect(await focused()).toBe('frame')
    application.answer = { status: 'VERIFICATION_FAILED' }
    await page.getByRole('button', { name: 'Try again' }).waitFor()
    expect(await focused()).toBe('frame')
  })

  describe('changes nothing', () => {
    const NO_API = () => Reflect.deleteProperty(globalThis, 'DigitalCredential')
    const nothing = { digital: { requests: [UNKNOWN] } }
    it.each([
      ['where the browser has no such API', true, {}],
      ['where it allows none of the requests', false, nothing],
      ['where the requests cannot be fetched', false, 500],
      ['where what came is none', false, { digital: {} }],
    ])('%s', async (_, isWithout, digital) => {
      application.digital = digital
      const opened = await openWindow()
      const { page } = opened
      if (isWithout) await page.addInitScript(NO_API)
      const attributes = { link: LINK, 'digital-credentials': '/digital' }
      await page.goto(application.page({ attributes }))
      await page.getByRole('img').waitFor()
      expect(await readCode(page)).toBe(LINK)
      expect(await page.getByRole('button').allInnerTexts()).toEqual(['My wallet is on this device'])
      expect(opened.requests.filter((url) => url.endsWith('/digital'))).toHaveLength(isWithout ? 0 : 1)
      expect(opened.faults).toEqual([])
    })

    it.each([
      [true, {}, 'This browser cannot use a wallet. Open the page in another browser.'],
      [false, nothing, 'This browser cannot use a wallet. Open the page in another browser.'],
      [false, 500, 'This request cannot be shown. Reload the page.'],
    ])('but says why there is no other way: %s %j', async (isWithout, digital, text) => {
      application.digital = digital
      const opened = await openWindow()
      const { page } = opened
      if (isWithout) await page.addInitScript(NO_API)
      await page.goto(application.page({ attributes: { 'digital-credentials': '/digital' } }))
      await expect.poll(() => page.getByRole('status').innerText()).toBe(text)
      expect(await faultsForSomebody(opened)).toEqual([])
    })
  })

  it.each(['javascript:attacked=1', 'data:application/json,{}', 'file:///etc/passwd'])(
    'fetches no request from %s',
    async (address) => {
      const { page, status } = await open({ 'digital-credentials': address })
      await expect.poll(() => status.innerText()).toBe('This request cannot be shown. Reload the page.')
      expect(await page.evaluate(() => 'attacked' in globalThis)).toBe(false)
    },
  )

  it.each(['en', 'de', 'fr', 'es', 'da'])('speaks %s', async (language) => {
    const { texts } = textsOf(language)
    const { page, status } = await open({}, { language })
    await setVirtualWallet(page, { action: 'decline' })
    await page.getByRole('button', { name: texts.ask }).waitFor()
    expect(await page.getByRole('button').allInnerTexts()).toEqual([texts.ask, texts.anotherWay])
    await page.getByRole('button', { name: texts.ask }).click()
    await expect.poll(() => status.innerText()).toBe(texts.stopped)
  })

  describe.each(['light', 'dark'] as const)('in %s', (scheme) => {
    it.each([
      ['at a desk', {}],
      ['on a phone', PHONE],
      ['on a narrow phone', { ...PHONE, viewport: { width: 320, height: 700 } }],
    ] as const)('has nothing that axe finds, and no more than the width %s', async (_, options) => {
      const opened = await open({}, { ...options, scheme })
      const { page, ask, status } = opened
      await ask.waitFor()
      expect(await faultsForSomebody(opened)).toEqual([])
      await setVirtualWallet(page, { action: 'decline' })
      await ask.click()
      await expect.poll(() => status.innerText()).toBe(STOPPED)
      expect(await faultsForSomebody(opened)).toEqual([])
    })
  })
})

/** Notes what the page gives to the browser, and how it ends. */
function noteCalls(): void {
  const { credentials } = navigator
  const get = credentials.get.bind(credentials)
  const calls: unknown[] = []
  Object.assign(globalThis, { asked: calls })
  credentials.get = async (options) => {
    // A signal cannot be cloned.
    calls.push(JSON.parse(JSON.stringify({ ...options, signal: undefined })))
    return get(options).catch((error: unknown) => {
      Object.assign(globalThis, { ended: (error as Error).name })
      throw error
    })
  }
}

/** Notes what the element tells the developer. */
function noteWarnings(page: Page): readonly string[] {
  const warnings: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'warning') warnings.push(message.text())
  })
  return warnings
}

const askedOf = (page: Page): Promise<readonly Asked[]> =>
  page.evaluate(() => (globalThis as unknown as { asked: Asked[] }).asked)
