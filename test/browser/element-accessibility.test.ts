/** `<vouchsafe-request>` for those who use a keyboard, a screen reader, other colours, or no motion. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Application, startApplication } from './application.ts'
import { accessibilityFaults, describeInBrowser, PHONE } from './browser.ts'

const LINK = 'haip-vp://?request_uri=https%3A%2F%2Fverifier.example.org%2Frequest%2F1&client_id=x509_hash%3Aabc'
const ATTRIBUTES = { link: LINK, 'status-url': '/status' }
const STATUSES = ['waiting', 'opened', 'done', 'failed', 'declined', 'expired']

describeInBrowser('<vouchsafe-request> for everybody', (openWindow) => {
  let application: Application
  beforeAll(async () => {
    application = await startApplication()
  })
  afterAll(() => application.close())

  /** The text of what has the focus, inside the element or in the page. */
  const focused = (page: Page) =>
    page.evaluate(() => {
      const { activeElement } = document
      return (activeElement?.shadowRoot?.activeElement ?? activeElement)?.textContent ?? ''
    })

  describe.each(['light', 'dark'] as const)('in %s', (scheme) => {
    it.each(STATUSES)('has nothing that axe finds, at a desk and on a phone: %s', async (status) => {
      application.answer = { status, expires_at: Math.floor(Date.now() / 1000) + 100 }
      for (const options of [{}, PHONE]) {
        const { page } = await openWindow({ ...options, colorScheme: scheme })
        await page.goto(application.page({ attributes: ATTRIBUTES, scheme }))
        await page.locator(`.frame.${status}`).waitFor()
        if (status === 'waiting') await page.getByRole('button').click()
        expect(await accessibilityFaults(page)).toEqual([])
      }
    })
  })

  it.each([{}, { link: 'no link' }])('has nothing that axe finds without a request: %j', async (attributes) => {
    const { page } = await openWindow()
    await page.goto(application.page({ attributes }))
    await page.getByRole('status').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it('is used by the keyboard alone, and never loses the focus', async () => {
    application.answer = { status: 'waiting' }
    const { page } = await openWindow()
    await page.goto(application.page({ attributes: ATTRIBUTES }))
    await page.getByRole('status').waitFor()
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('My wallet is on this device')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('Open your wallet')
    application.answer = { status: 'expired' }
    await expect.poll(() => focused(page)).toBe('Try again')
    await page.keyboard.press('Space')
    expect(await focused(page)).toContain('One moment …')
    application.answer = { status: 'waiting' }
    await page.locator('vouchsafe-request').evaluate((element, link) => element.setAttribute('link', link), LINK)
    await page.getByRole('img').waitFor()
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('My wallet is on this device')
  })

  it('takes the focus from nobody', async () => {
    application.answer = { status: 'waiting' }
    const { page } = await openWindow()
    await page.goto(application.page({ attributes: ATTRIBUTES }))
    application.answer = { status: 'expired' }
    await page.getByRole('button', { name: 'Try again' }).waitFor()
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('BODY')
  })

  it('announces each state once, and not the time', async () => {
    application.answer = { status: 'waiting', expires_at: Math.floor(Date.now() / 1000) + 100 }
    const { page } = await openWindow()
    await page.goto(application.page({ attributes: ATTRIBUTES }))
    const status = page.getByRole('status')
    await page.getByRole('timer').waitFor()
    expect(await status.getAttribute('aria-live')).toBe('polite')
    const timer = await page.getByRole('timer').elementHandle()
    const changes = await status.evaluate(async (element, time) => {
      let count = 0
      new MutationObserver((records) => {
        count += records.length
      }).observe(element, { childList: true, characterData: true, subtree: true })
      // The time changes each second, outside of the status.
      await new Promise<void>((resolve) => {
        let ticks = 0
        new MutationObserver(() => {
          ticks += 1
          if (ticks === 3) resolve()
        }).observe(time, { childList: true, characterData: true, subtree: true })
      })
      return count
    }, timer)
    expect(changes).toBe(0)
    expect(await status.locator('[role=timer]').count()).toBe(0)
  })

  it.each([
    ['reduce', 'none'],
    ['no-preference', 'turn'],
  ] as const)('moves as the person likes it: %s', async (reducedMotion, animation) => {
    application.answer = { status: 'waiting' }
    const { page } = await openWindow({ reducedMotion })
    await page.goto(application.page({ attributes: ATTRIBUTES }))
    const mark = page.locator('[part=mark]')
    await mark.waitFor()
    expect(await mark.evaluate((element) => getComputedStyle(element).animationName)).toBe(animation)
  })

  it('takes the colours of the page', async () => {
    application.answer = { status: 'waiting' }
    const { page } = await openWindow()
    await page.goto(application.page({ attributes: { ...ATTRIBUTES, display: 'link' } }))
    const link = page.locator('a')
    await link.waitFor()
    const color = await page.locator('vouchsafe-request').evaluate((element: HTMLElement) => {
      element.style.setProperty('--vouchsafe-accent', 'rgb(1, 2, 3)')
      const inner = element.shadowRoot?.querySelector('a')
      return inner ? getComputedStyle(inner).backgroundColor : ''
    })
    expect(color).toBe('rgb(1, 2, 3)')
  })
})
