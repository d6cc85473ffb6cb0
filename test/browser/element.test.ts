/**
 * `<vouchsafe-request>` in a browser: code and link, states, events, languages, and what pages and answers may not do
 * to it.
 */
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { textsOf } from '../../sdk/element/texts.ts'
import { type Application, startApplication } from './application.ts'
import { describeInBrowser, type OpenPage, PHONE, readCode } from './browser.ts'

const REQUEST_URI =
  'request_uri=https%3A%2F%2Fverifier.example.org%2Fpresentation%2Foid4vp%2Frequest%2F6iN3ZTz8wQX0aVbY'
const CLIENT_ID = 'client_id=x509_hash%3AfjXW7nBYtXW8l1yJY3k4U8aFm1EBFK0Jm0JkXfYVv3A'
const LINK = `haip-vp://?${REQUEST_URI}&${CLIENT_ID}`
const QUERY = `${CLIENT_ID}&${REQUEST_URI}`
const OFFER = 'haip-vci://?credential_offer_uri=https%3A%2F%2Fissuer.example.org%2Foffer%2F6iN3ZTz8wQX0aVbY'
const LANGUAGES = ['en', 'de', 'fr', 'es', 'da']

describeInBrowser('<vouchsafe-request>', (openWindow) => {
  let application: Application
  beforeEach(async () => {
    application = await startApplication()
  })
  afterEach(() => application.close())

  interface Opened extends OpenPage {
    readonly link: Locator
    readonly code: Locator
    readonly status: Locator
    readonly heard: () => Promise<readonly string[]>
  }

  /** Opens a page with the element. */
  async function open(
    attributes: Readonly<Record<string, string>> = {},
    options: BrowserContextOptions & { readonly language?: string; readonly scheme?: 'light' | 'dark' } = {},
  ): Promise<Opened> {
    const { language = 'en', scheme = 'light', ...ofWindow } = options
    const opened = await openWindow(ofWindow)
    const { page } = opened
    const all = { link: LINK, 'status-url': '/status', ...attributes }
    await page.goto(application.page({ attributes: all, language, scheme }))
    return {
      ...opened,
      link: page.locator('a'),
      code: page.getByRole('img'),
      status: page.getByRole('status'),
      heard: () => page.evaluate(() => (globalThis as unknown as { heard: string[] }).heard),
    }
  }

  describe('on a desktop', () => {
    it.each(['light', 'dark'] as const)('shows a code that reads as the link, in %s', async (scheme) => {
      const { page, code, link, faults } = await open({}, { scheme, colorScheme: scheme })
      await code.waitFor()
      expect(await readCode(page)).toBe(LINK)
      expect(await code.getAttribute('aria-label')).toBe('QR code for your wallet')
      expect(await link.isVisible()).toBe(false)
      expect(faults).toEqual([])
    })

    it('shows the link behind a button', async () => {
      const { page, link } = await open()
      await page.getByRole('button', { name: 'My wallet is on this device' }).click()
      expect(await link.isVisible()).toBe(true)
      expect(await link.getAttribute('href')).toBe(LINK)
      await page.getByRole('button', { name: 'My wallet is on this device', expanded: true }).click()
      expect(await link.isVisible()).toBe(false)
    })
  })

  describe('on a phone', () => {
    it('shows the link, and the code behind a button', async () => {
      const { page, link, code, faults } = await open({}, PHONE)
      await link.waitFor()
      expect(await link.innerText()).toBe('Open your wallet')
      expect(await link.getAttribute('href')).toBe(LINK)
      expect(await code.isVisible()).toBe(false)
      await page.getByRole('button', { name: 'Another device' }).tap()
      expect(await page.getByText('Scan this code with your wallet').isVisible()).toBe(true)
      expect(await readCode(page)).toBe(LINK)
      expect(faults).toEqual([])
    })

    it('has room for all of it, without scrolling to the side', async () => {
      const { page, link } = await open({ display: 'qr' }, { ...PHONE, viewport: { width: 320, height: 700 } })
      await link.waitFor({ state: 'attached' })
      expect(await readCode(page)).toBe(LINK)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    })
  })

  it('shows what `display` says', async () => {
    const { link, code, page } = await open({ display: 'link' })
    await link.waitFor()
    expect(await code.isVisible()).toBe(false)
    await page.locator('vouchsafe-request').evaluate((element) => element.setAttribute('display', 'qr'))
    await code.waitFor()
    expect(await link.isVisible()).toBe(false)
  })

  it.each([
    [{ scheme: 'openid4vp' }, `openid4vp://?${QUERY}`],
    [{ scheme: 'https://wallet.example/open' }, `https://wallet.example/open?${QUERY}`],
    [{ kind: 'offer', link: OFFER }, OFFER],
    [
      { kind: 'offer', link: OFFER, scheme: 'openid-credential-offer' },
      OFFER.replace('haip-vci', 'openid-credential-offer'),
    ],
  ])('with %j the code reads as %s', async (attributes, expected) => {
    const { page, code, link } = await open(attributes)
    await code.waitFor()
    expect(await readCode(page)).toBe(expected)
    expect(await link.getAttribute('href')).toBe(expected)
  })

  it('tells the page each status and the end once, and asks no more after the end', async () => {
    const { page, status, heard, faults } = await open({ kind: 'offer', link: OFFER })
    await expect.poll(() => status.innerText()).toBe('Waiting for your wallet')
    expect(await page.getByText('Scan this code with your wallet').isVisible()).toBe(true)
    application.answer = { status: 'STARTED', offer_fetched_at: 1 }
    await expect.poll(() => status.innerText()).toBe('Continue in your wallet')
    expect(await page.getByText('Scan this code with your wallet').isVisible()).toBe(false)
    application.answer = { status: 'SUCCEEDED' }
    await expect.poll(() => status.innerText()).toBe('Done: the credential is in your wallet')
    expect(await heard()).toEqual(['statuschange opened', 'statuschange done', 'end done'])
    expect(await page.locator('a[href]').count()).toBe(0)
    const { questions } = application
    await page.waitForTimeout(1500)
    expect(application.questions).toBe(questions)
    expect(faults).toEqual([])
  })

  it.each([
    ['VERIFICATION_SUCCEEDED', 'done', 'Done: your credential was accepted', false],
    ['VERIFICATION_FAILED', 'failed', 'Your credential was not accepted', true],
    ['DECLINED', 'declined', 'You declined in your wallet', true],
    ['EXPIRED', 'expired', 'The time has run out', true],
  ])('shows %s as %s', async (answer, end, text, canRenew) => {
    application.answer = { status: answer }
    const { page, status, code, heard } = await open()
    await expect.poll(() => status.innerText()).toBe(text)
    expect(await heard()).toContain(`end ${end}`)
    expect(await code.count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Try again' }).isVisible()).toBe(canRenew)
  })

  it('asks the page for a new request, and shows it', async () => {
    application.answer = { status: 'EXPIRED' }
    const { page, status, code, heard, requests } = await open()
    const again = page.getByRole('button', { name: 'Try again' })
    await again.click()
    expect(await heard()).toEqual(['statuschange expired', 'end expired', 'renew'])
    expect(await status.innerText()).toBe('One moment …')
    application.answer = { status: 'STARTED' }
    const before = requests.length
    await page.locator('vouchsafe-request').evaluate(
      (element, link) => {
        element.setAttribute('link', link)
        element.setAttribute('status-url', '/status?2')
      },
      LINK.replace('6iN3', 'again'),
    )
    await code.waitFor()
    expect(await readCode(page)).toContain('again')
    expect(await status.innerText()).toBe('Waiting for your wallet')
    // Both attributes together are one change.
    expect(new Set(requests.slice(before))).toEqual(new Set([`${application.url}/status?2`]))
  })

  it('counts the remaining time down, by the clock of the application', async () => {
    const { page } = await open({ 'status-url': '/status' })
    application.answer = { status: 'STARTED', expires_at: Math.floor(Date.now() / 1000) + 125 }
    const time = page.getByRole('timer')
    await expect.poll(() => time.innerText()).toMatch(/^2:0[0-5] left$/)
    const before = await time.innerText()
    await expect.poll(() => time.innerText()).not.toBe(before)
  })

  it.each([86_500, 1e300])('shows no remaining time of more than a day: %d seconds', async (seconds) => {
    application.answer = { status: 'STARTED', expires_at: Math.floor(Date.now() / 1000) + seconds }
    const { page, code } = await open()
    await expect.poll(() => application.questions).toBeGreaterThan(2)
    expect([await code.isVisible(), await page.getByRole('timer').isVisible()]).toEqual([true, false])
  })

  describe('some seconds after the time has run out', () => {
    const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

    it.each(['says that it has begun', 'has no answer', 'is a stream that broke'])(
      'offers another request where the application %s, and takes its late answer',
      async (what) => {
        application.isStream = what === 'is a stream that broke'
        application.answer = { status: 'STARTED', expires_at: inSeconds(8) }
        const { page, status, code, heard, faults } = await open()
        await page.getByRole('timer').waitFor()
        expect(await code.isVisible()).toBe(true)
        if (what !== 'says that it has begun') application.answer = 404
        if (application.isStream) application.cut()
        await expect.poll(() => status.innerText()).toBe('The time has run out')
        expect(await page.getByRole('button').allInnerTexts()).toEqual(['Try again'])
        expect([await code.count(), await page.locator('a[href]').count(), await heard()]).toEqual([0, 0, []])
        application.isStream = false
        application.answer = { status: 'VERIFICATION_SUCCEEDED' }
        await expect.poll(() => status.innerText()).toBe('Done: your credential was accepted')
        expect(await heard()).toEqual(['statuschange done', 'end done'])
        expect(faults).toEqual([])
      },
    )

    it('shows the code again where the application gives more time', async () => {
      application.answer = { status: 'STARTED', expires_at: inSeconds(8) }
      const { status, code } = await open()
      await expect.poll(() => status.innerText()).toBe('The time has run out')
      application.answer = { status: 'STARTED', expires_at: inSeconds(100) }
      await code.waitFor()
      expect(await status.innerText()).toBe('Waiting for your wallet')
    })

    it('asks no more about the request that the person leaves', async () => {
      application.answer = { status: 'STARTED', expires_at: inSeconds(8) }
      const { page, status, heard } = await open()
      await page.getByRole('button', { name: 'Try again' }).click()
      const { questions } = application
      await page.waitForTimeout(1500)
      expect([application.questions, await status.innerText()]).toEqual([questions, 'One moment …'])
      expect(await heard()).toEqual(['renew'])
    })

    it('says that the time has run out, where it did while the device slept', async () => {
      application.answer = { status: 'STARTED', expires_at: inSeconds(100) }
      const { page, status } = await open()
      await page.getByRole('timer').waitFor()
      // An answer without an end says nothing of it.
      application.answer = { status: 'opened' }
      await expect.poll(() => status.innerText()).toBe('Continue in your wallet')
      // The clock of the page stood still meanwhile, and that of the application did not.
      application.answer = { status: 'STARTED', expires_at: inSeconds(-100) }
      await expect.poll(() => status.innerText()).toBe('The time has run out')
    })

    it('shows the code where the time had run out before the first answer, as by a wrong clock', async () => {
      application.answer = { status: 'STARTED', expires_at: inSeconds(-100) }
      const { page, code } = await open()
      await expect.poll(() => application.questions).toBeGreaterThan(2)
      expect([await code.isVisible(), await page.getByRole('timer').isVisible()]).toEqual([true, false])
    })
  })

  const setHidden = (page: Page, isHidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, isHidden)

  it('asks nothing while the page cannot be seen', async () => {
    const { page, status } = await open()
    await status.waitFor()
    await setHidden(page, true)
    await page.waitForTimeout(1200)
    const { questions } = application
    await page.waitForTimeout(1500)
    expect(application.questions).toBe(questions)
    application.answer = { status: 'VERIFICATION_SUCCEEDED' }
    await setHidden(page, false)
    await expect.poll(() => status.innerText()).toContain('Done')
  })

  it('follows its stream anew when the page is seen again, since a connection may have died unnoticed', async () => {
    application.isStream = true
    const { page, status } = await open()
    await expect.poll(() => application.streams).toBe(1)
    await setHidden(page, true)
    await expect.poll(() => application.streams).toBe(0)
    application.answer = { status: 'VERIFICATION_SUCCEEDED' }
    await setHidden(page, false)
    await expect.poll(() => status.innerText()).toContain('Done')
  })

  it('follows a stream of events', async () => {
    application.isStream = true
    const { status, heard, faults } = await open()
    await expect.poll(() => application.streams).toBe(1)
    const { questions } = application
    application.answer = { status: 'opened' }
    application.send()
    await expect.poll(() => status.innerText()).toBe('Continue in your wallet')
    application.answer = { status: 'VERIFICATION_SUCCEEDED' }
    application.send()
    await expect.poll(() => status.innerText()).toBe('Done: your credential was accepted')
    // The first look is answered by a stream, and the stream is opened once.
    expect([questions, application.questions]).toEqual([2, 2])
    await expect.poll(() => application.streams).toBe(0)
    expect(await heard()).toEqual(['statuschange opened', 'statuschange done', 'end done'])
    expect(faults).toEqual([])
  })

  it('says when the application cannot be asked, and goes on when it can', async () => {
    application.answer = 500
    const { status, code } = await open()
    await expect.poll(() => status.innerText()).toBe('No connection, trying again …')
    expect(await code.isVisible()).toBe(true)
    application.answer = { status: 'STARTED' }
    await expect.poll(() => status.innerText()).toBe('Waiting for your wallet')
  })

  it('says when the application goes away whose stream it follows', async () => {
    application.isStream = true
    const { status, code } = await open()
    await expect.poll(() => application.streams).toBe(1)
    application.close()
    await expect.poll(() => status.innerText()).toBe('No connection, trying again …')
    expect(await code.isVisible()).toBe(true)
  })

  it('asks no more when the page has removed it', async () => {
    const { page, status } = await open()
    await status.waitFor()
    await page.locator('vouchsafe-request').evaluate((element) => element.remove())
    await page.waitForTimeout(300)
    const { questions } = application
    await page.waitForTimeout(1500)
    expect(application.questions).toBe(questions)
  })

  it('asks the application alone', async () => {
    const { requests, status } = await open()
    await status.waitFor()
    await expect.poll(() => requests.filter((url) => url.endsWith('/status')).length).toBeGreaterThan(1)
    expect(requests.filter((url) => !url.startsWith(application.url))).toEqual([])
  })

  describe('in another language', () => {
    it.each(LANGUAGES)('%s, as the page or the element says', async (language) => {
      const { texts } = textsOf(language)
      const inPage = await open({}, { language })
      await expect.poll(() => inPage.status.innerText()).toBe(texts.waiting)
      expect(await inPage.page.getByRole('button').first().innerText()).toBe(texts.thisDevice)
      const { page, status, link } = await open({ lang: language, display: 'link' }, { language: 'ja' })
      await expect.poll(() => status.innerText()).toBe(texts.waiting)
      expect(await link.innerText()).toBe(texts.open)
      expect(await page.getByRole('group').getAttribute('lang')).toBe(language)
      // The page may be written from right to left, and the texts are not.
      expect(await page.getByRole('group').getAttribute('dir')).toBe('ltr')
      await page.locator('vouchsafe-request').evaluate((element) => element.setAttribute('lang', 'en'))
      expect(await link.innerText()).toBe('Open your wallet')
    })
  })

  describe('against attacks', () => {
    /** The elements and scripts that an attack would have made. */
    const traces = (page: Page) =>
      page.evaluate(() => {
        const root = document.querySelector('vouchsafe-request')?.shadowRoot
        return {
          elements: root?.querySelectorAll('img, script, iframe, b, [onerror], a[href]').length,
          attacked: 'attacked' in globalThis,
        }
      })

    it.each([
      ['has tags', `${LINK}"><img src=x onerror="attacked=1">`],
      ['has an attribute', `${LINK}" onclick="attacked=1`],
      ['is a script', 'javascript:attacked=1//?request_uri=x'],
      ['is a script with an authority', 'javascript://%0aattacked=1?request_uri=x'],
      ['is data', 'data:text/html,<script>attacked=1</script>?request_uri=x'],
      ['is plain HTTP', 'http://wallet.example/?request_uri=x'],
    ])('refuses a link that %s', async (_what, link) => {
      const { page, status, heard, faults } = await open({ link })
      await expect.poll(() => status.innerText()).toBe('This request cannot be shown. Reload the page.')
      expect(await traces(page)).toEqual({ elements: 0, attacked: false })
      expect(await heard()).toEqual([])
      expect(faults).toEqual([])
    })

    it.each(['javascript', 'javascript:attacked=1//', 'http://wallet.example', '"><b>'])(
      'refuses the scheme %s',
      async (scheme) => {
        const { page, status } = await open({ scheme })
        await expect.poll(() => status.innerText()).toBe('This request cannot be shown. Reload the page.')
        expect(await traces(page)).toEqual({ elements: 0, attacked: false })
      },
    )

    it.each(['https://elsewhere.example/status', 'javascript:attacked=1', 'data:application/json,{"status":"done"}'])(
      'asks no status at %s',
      async (address) => {
        const { page, status, requests } = await open({ 'status-url': address })
        await expect.poll(() => status.innerText()).toBe('This request cannot be shown. Reload the page.')
        expect(requests.filter((url) => !url.startsWith(application.url))).toEqual([])
        expect(await traces(page)).toEqual({ elements: 0, attacked: false })
      },
    )

    it('takes no status as HTML', async () => {
      application.answer = { status: '<img src=x onerror=attacked=1>', expires_at: '<b>' }
      const { page, status } = await open()
      await page.waitForTimeout(1200)
      expect(await status.innerText()).toBe('Waiting for your wallet')
      expect(await traces(page)).toEqual({ elements: 1, attacked: false })
    })
  })
})
