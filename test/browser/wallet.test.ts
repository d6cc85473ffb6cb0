/** The wallet in the page of the console: the guided walk, each misbehaviour with what catches it, and declining. */
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { describeInBrowser, faultsInAnyColours, type OpenPage, PHONE } from './browser.ts'
import { type RunningConsole, startConsole } from './console-process.ts'

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

/** The checks that have to catch each misbehaviour of the page, with an SD-JWT VC. */
const CAUGHT_BY = {
  'Replayed presentation': 'holder.nonce',
  'Wrong nonce': 'holder.nonce',
  'Wrong audience': 'holder.audience',
  'Stale proof': 'holder.fresh',
  'Swapped key': 'holder.signature',
  'No proof of the holder': 'holder.binding',
  'Changed claim': 'disclosures.valid',
  'Missing claim': 'query.claims',
  'Forged signature': 'issuer.signature',
  'Self-made issuer': 'issuer.trusted',
} as const
const REFUSED_WITH = { 'Wrong nonce': 'invalid_nonce', 'Stale proof': 'invalid_proof', 'Swapped key': 'invalid_proof' }

describeInBrowser('the wallet of the console', (openWindow) => {
  let console: RunningConsole
  beforeAll(async () => {
    // A credential that has expired or was revoked is so for the verifier after a second.
    console = await startConsole({ issuer: { statusList: { ttlSeconds: 1 } }, verifier: { clockSkewSeconds: 1 } })
  })
  afterAll(() => console.stop())

  async function open(options: BrowserContextOptions = {}): Promise<OpenPage> {
    const opened = await console.open(openWindow, 'wallet', options)
    await opened.page.getByText('The wallet is empty.').waitFor()
    return opened
  }

  async function receive(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Offer a student ID' }).click()
    await page.getByRole('button', { name: 'Receive' }).click()
    await page.getByLabel('Transaction code').fill(await page.locator('strong.code').innerText())
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText('Received: Student ID.').waitFor()
  }

  async function ask(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Ask for given name and programme' }).click()
    await page.getByRole('button', { name: 'Present' }).waitFor()
  }

  async function presentHonestly(page: Page): Promise<void> {
    await ask(page)
    await page.getByRole('button', { name: 'Present' }).click()
    await page.getByRole('heading', { name: 'Report' }).waitFor()
    expect(await page.locator('.checks .failed th').allInnerTexts()).toEqual([])
    await page.getByText('Presented, and the verifier took it.').waitFor()
  }

  /** Presents with a misbehaviour; resolves with the verdict of the page and the checks that failed in the report. */
  async function misbehave(page: Page, title: string) {
    await ask(page)
    await page.getByLabel(title, { exact: true }).check()
    await page.getByRole('button', { name: 'Present' }).click()
    const verdict = await page.locator('.verdict').innerText()
    expect(await isInView(page)).toBe(true)
    await page.getByRole('heading', { name: 'Report' }).waitFor()
    const rows = await page.locator('.checks tr.failed th').all()
    const failed = await Promise.all(rows.map((row) => row.getAttribute('title')))
    return { verdict, failed: failed.map((text) => text?.split(' ')[0]) }
  }

  it('is walked through in eleven clicks and one code', async () => {
    const { page, faults, requests } = await open()
    const step = page.locator('.guide p')
    expect(await step.innerText()).toContain('Step 1 of 11')
    await receive(page)
    expect(await step.innerText()).toContain('Step 4 of 11')
    await ask(page)
    const plan = await page.locator('.pane').innerText()
    expect(plan).toMatch(/It will see\s+Given name\s+Ada\s+Programme\s+Mathematics/)
    expect(plan).toMatch(/It will not see\s+Family name, Date of birth, Student number, Enrolled until/)
    await page.getByRole('button', { name: 'Present' }).click()
    await page.getByText('Presented, and the verifier took it.').waitFor()
    await page.getByRole('heading', { name: 'Report' }).waitFor()
    expect(await page.locator('.outcome.failed').count()).toBe(0)
    const wrong = await misbehave(page, 'Wrong nonce')
    expect([wrong.verdict, wrong.failed]).toEqual([expect.stringContaining('Caught by holder.nonce'), ['holder.nonce']])
    expect(await step.innerText()).toContain('Step 9 of 11')
    const revoked = await misbehave(page, 'Revoked credential')
    expect([revoked.verdict, revoked.failed]).toEqual([
      expect.stringContaining('Caught by status.valid'),
      ['status.valid'],
    ])
    expect(await step.innerText()).toContain('That was the walk')
    expect(faults).toEqual([])
    // The wallet reaches the services as any other, and the console adds its key to other requests alone.
    expect(requests.some((url) => url.includes('/credential-request'))).toBe(true)
    expect(requests.some((url) => url.includes('/api/') && url.includes('/credential-request'))).toBe(false)
  })

  it('is caught at each misbehaviour by the check that it names, and by no other', async () => {
    const { page, faults } = await open()
    await receive(page)
    await ask(page)
    expect(await page.getByLabel('Replayed presentation').isDisabled()).toBe(true)
    await presentHonestly(page)
    for (const [title, check] of Object.entries(CAUGHT_BY)) {
      const { verdict, failed } = await misbehave(page, title)
      expect([title, verdict]).toEqual([title, expect.stringContaining(`Caught by ${check}.`)])
      // A replayed presentation is older than the session, too.
      expect(failed.filter((id) => title !== 'Replayed presentation' || id !== 'holder.fresh')).toEqual([check])
    }
    expect(faults).toEqual([])
  })

  it('is refused with a wrong state, and the request goes on waiting', async () => {
    const { page, faults } = await open()
    await receive(page)
    await ask(page)
    await page.getByLabel('Wrong state', { exact: true }).check()
    await page.getByRole('button', { name: 'Present' }).click()
    expect(await page.locator('.verdict').innerText()).toMatch(
      /Caught by invalid_request\. The verifier caught it: .*state/,
    )
    expect(await page.getByRole('heading', { name: 'Report' }).count()).toBe(0)
    await presentHonestly(page)
    expect(faults).toEqual([])
  })

  it('is caught with a credential that has expired', async () => {
    const { page } = await open()
    await page.getByRole('button', { name: 'Offer one that is valid for five seconds' }).click()
    await page.getByRole('button', { name: 'Receive' }).click()
    await page.getByText('Received: Student ID for five seconds.').waitFor()
    // The card, the second it is rounded up by, and the tolerance of the verifier last for seven seconds.
    await page.waitForTimeout(8000)
    await ask(page)
    await page.getByText('The wallet cannot answer').waitFor()
    await page.getByLabel('Expired credential').check()
    await page.getByRole('button', { name: 'Present' }).click()
    expect(await page.locator('.verdict').innerText()).toContain('Caught by validity.not_expired')
  })

  it.each(Object.entries(REFUSED_WITH))('is refused with a %s when it receives, by %s', async (title, error) => {
    const { page } = await open()
    await page.getByRole('button', { name: 'Offer one that is valid for five seconds' }).click()
    await page.getByLabel(title).check()
    await page.getByRole('button', { name: 'Receive' }).click()
    expect(await page.locator('.verdict').innerText()).toContain(`Caught by ${error}`)
    await page.getByText(`The wallet was refused at the credential endpoint: ${error}`).waitFor()
    await page.getByText('The wallet is empty.').waitFor()
  })

  it('takes an offer once, however often the button is clicked', async () => {
    const { page, requests } = await open()
    await page.getByRole('button', { name: 'Offer one that is valid for five seconds' }).click()
    await page.getByRole('button', { name: 'Receive' }).dblclick()
    await page.getByText('Received: Student ID for five seconds.').waitFor()
    await page.waitForTimeout(500)
    expect(await page.getByRole('alert').allInnerTexts()).toEqual([])
    expect(requests.filter((url) => url.includes('/token-endpoint/'))).toHaveLength(1)
  })

  it('says what fails in the browser itself, and does so too where an offer is taken', async () => {
    const { page } = await open()
    await page.getByRole('button', { name: 'Offer one that is valid for five seconds' }).click()
    await page.getByRole('button', { name: 'Receive' }).waitFor()
    await page.evaluate(() => {
      Object.assign(crypto.subtle, { generateKey: () => Promise.reject(new Error('the browser makes no keys')) })
    })
    await page.getByRole('button', { name: 'Receive' }).click()
    await page.getByRole('alert').filter({ hasText: 'the browser makes no keys' }).waitFor()
  })

  it('fits a narrow screen, however long the words of a stranger are', async () => {
    const { page } = await open({ viewport: { width: 320, height: 700 } })
    const link = `haip-vci://?credential_offer_uri=${'a'.repeat(2000)}`
    await page.getByLabel('Link of an offer or a request').fill(link)
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await page.locator('.pane').getByRole('alert').waitFor()
    await page
      .locator('.pane h3, .pane [role=alert]')
      .first()
      .evaluate((words) => (words.textContent = 'a'.repeat(2000)))
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
  })

  it('says that it fetches, and leaves what is shown when an earlier link is slow', async () => {
    const { page } = await open()
    let answerSlowly: () => void = () => undefined
    const answered = new Promise<void>((resolve) => (answerSlowly = resolve))
    await page.route('**/slow-offer', async (route) => {
      await answered
      await route.abort()
    })
    await page
      .getByLabel('Link of an offer or a request')
      .fill(`haip-vci://?credential_offer_uri=${encodeURIComponent(`${new URL(page.url()).origin}/slow-offer`)}`)
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await page.getByText('The wallet fetches what the link names').waitFor()
    await page.getByRole('button', { name: 'Offer a student ID' }).click()
    await page.getByRole('button', { name: 'Receive' }).waitFor()
    answerSlowly()
    await page.waitForTimeout(500)
    expect(await page.getByRole('button', { name: 'Receive' }).isVisible()).toBe(true)
    expect(await page.locator('.pane').getByRole('alert').count()).toBe(0)
  })

  it('opens the links of the pages that issue and verify', async () => {
    const { page } = await open()
    await receive(page)
    await page.getByRole('link', { name: 'Issue', exact: true }).click()
    await page.locator('.choice', { hasText: 'Student ID' }).first().click()
    await page.getByLabel('given_name').fill('Grace')
    await page.getByRole('button', { name: 'Make the offer' }).click()
    await page.getByRole('link', { name: 'Open in the wallet of this console' }).click()
    await page.getByRole('button', { name: 'Receive' }).click()
    await page.getByText('Received: Student ID').waitFor()
    await page.getByText('Claims of the Student ID').first().click()
    await page.getByText('Grace').waitFor()
  })

  it('keeps the focus near a button that is gone after it was pressed', async () => {
    const { page, faults } = await open()
    const guide = page.locator('.guide')
    const pane = page.locator('.pane')
    await page.getByRole('button', { name: 'Offer it' }).press('Enter')
    await page.getByRole('button', { name: 'Not now' }).waitFor()
    expect(await hasFocus(guide)).toBe(true)
    await page.getByRole('button', { name: 'Not now' }).press('Enter')
    await page.getByText('The wallet is empty.').waitFor()
    await expect.poll(() => hasFocus(pane)).toBe(true)
    const link = page.getByLabel('Link of an offer or a request')
    await link.fill(`haip-vci://?credential_offer_uri=${encodeURIComponent(`${new URL(page.url()).origin}/none`)}`)
    await page.route('**/none', () => undefined)
    await link.press('Enter')
    await page.getByText('The wallet fetches what the link names').waitFor()
    expect(await hasFocus(pane)).toBe(true)
    await receive(page)
    await page.getByRole('button', { name: 'Ask for them' }).press('Enter')
    await page.getByRole('button', { name: 'Present' }).waitFor()
    expect(await hasFocus(guide)).toBe(true)
    await page.getByRole('button', { name: 'Decline' }).press('Enter')
    await page.getByRole('button', { name: 'Empty the wallet' }).press('Enter')
    await page.getByText('The wallet is empty.').waitFor()
    await expect.poll(() => hasFocus(pane)).toBe(true)
    expect(faults).toEqual([])
  })

  it('scrolls what takes the focus from under the guide and the buttons that stay in view', async () => {
    const { page } = await open({ viewport: { width: 1280, height: 600 } })
    await receive(page)
    await ask(page)
    const seen = async (key: string, presses: number): Promise<boolean[]> => {
      const all: boolean[] = []
      for (let n = 0; n < presses; n += 1) {
        await page.keyboard.press(key)
        all.push(await page.evaluate(isFocusInView))
      }
      return all
    }
    await page.getByRole('radio', { name: 'Honest' }).focus()
    const behaviours = await page.getByRole('radio', { disabled: false }).count()
    expect(await seen('ArrowDown', behaviours)).not.toContain(false)
    await page.getByRole('button', { name: 'Revoke' }).focus()
    expect(await seen('Shift+Tab', 12)).not.toContain(false)
  })

  it('presents nothing that was emptied in another window, and shows no more of it', async () => {
    const { page } = await open()
    await receive(page)
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByText('Claims of the Student ID').waitFor()
    const third = await page.context().newPage()
    await third.goto(page.url())
    await third.getByText('Claims of the Student ID').waitFor()
    await ask(other)
    await page.getByRole('button', { name: 'Empty the wallet' }).click()
    await page.getByText('The wallet is empty.').waitFor()
    await other.getByRole('button', { name: 'Present' }).click()
    await other.getByText('the wallet no longer holds Student ID').waitFor()
    await third.getByText('The wallet is empty.').waitFor()
    expect(await third.locator('.guide p').innerText()).toContain('Step 1 of 11')
  })

  it('declines, and the verifier learns that alone', async () => {
    const { page } = await open()
    await receive(page)
    await ask(page)
    await page.getByRole('button', { name: 'Decline' }).click()
    await page.getByText('declined by its holder').waitFor()
    await page.getByText('Declined. The verifier learns that').waitFor()
    expect(await page.locator('.pane').innerText()).toContain('Student ID')
  })

  it('opens an offer again whose code was mistyped, and guides on from there', async () => {
    const { page, faults } = await open()
    const step = page.locator('.guide p')
    await page.getByRole('button', { name: 'Offer it' }).click()
    await page.getByRole('button', { name: 'Receive' }).click()
    const code = await page.locator('strong.code').innerText()
    await page.getByLabel('Transaction code').fill(String((Number(code) + 1) % 10_000).padStart(4, '0'))
    await page.getByRole('button', { name: 'Go on' }).click()
    const again = page.getByRole('button', { name: 'Open the offer again' })
    await again.waitFor()
    expect(await step.innerText()).toMatch(/Step 2 of 11.*Open the offer again/)
    expect(await page.evaluate(() => document.activeElement?.contains(document.querySelector('[role=alert]')))).toBe(
      true,
    )
    expect(await page.evaluate(() => document.activeElement === document.body)).toBe(false)
    await page.keyboard.press('Tab')
    await expect.poll(() => again.evaluate((button) => button === document.activeElement)).toBe(true)
    await page.keyboard.press('Enter')
    expect(await step.innerText()).toContain('Step 2 of 11 You are the student: look at the offer')
    await page.getByRole('button', { name: 'Receive' }).click()
    await page.getByLabel('Transaction code').fill(code)
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText('Received: Student ID.').waitFor()
    expect(await step.innerText()).toContain('Step 4 of 11')
    expect(faults).toEqual([])
  })

  it('guides on from the same step after another page, and ends when the card was revoked there', async () => {
    const { page, faults } = await open()
    const step = page.locator('.guide p')
    await receive(page)
    await ask(page)
    await presentHonestly(page)
    await misbehave(page, 'Wrong nonce')
    const presentedAt = Date.now()
    expect(await step.innerText()).toContain('Step 9 of 11')
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.locator('tbody a').first().click()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke for good?' }).click()
    await page.getByText('The credentials are REVOKED.').waitFor()
    await page.getByRole('link', { name: 'Wallet' }).click()
    await page.getByText('Student ID').first().waitFor()
    expect(await step.innerText()).toContain('Step 9 of 11')
    await ask(page)
    expect(await step.innerText()).toContain('Step 10 of 11')
    // The verifier kept the list for as long as the issuer says, since the last presentation at the latest.
    await page.waitForTimeout(Math.max(0, presentedAt + 5500 - Date.now()))
    await page.getByRole('button', { name: 'Present' }).click()
    await page.locator('.checks tr.failed').first().waitFor()
    expect(await step.innerText()).toContain('That was the walk')
    await page.getByRole('button', { name: 'Empty the wallet' }).click()
    await page.getByText('The wallet is empty.').waitFor()
    expect(await step.innerText()).toContain('Step 1 of 11')
    expect(faults).toEqual([])
  })

  it('shows what it asks agreement to, and the service that asks, without scrolling', async () => {
    const { page } = await open({ viewport: { width: 1280, height: 800 } })
    await receive(page)
    await ask(page)
    await expect.poll(() => isWithinWindow(page, page.getByRole('button', { name: 'Present' }))).toBe(true)
    await page.getByRole('button', { name: 'Present' }).click()
    await page.getByRole('heading', { name: 'Report' }).waitFor()
    expect(await isWithinWindow(page, page.getByRole('heading', { name: 'Report' }))).toBe(true)
    await ask(page)
    await page.getByRole('button', { name: 'Decline' }).click()
    await page.getByText('Declined. The verifier learns that').waitFor()
    expect(await page.locator('.guide p').innerText()).toContain('Then let the library ask again.')
  })

  it('says what a wrong code, a spent offer and a foreign link are', async () => {
    const { page } = await open()
    await page.getByRole('button', { name: 'Offer a student ID' }).click()
    await page.getByRole('button', { name: 'Receive' }).click()
    const code = await page.locator('strong.code').innerText()
    await page.getByLabel('Transaction code').fill(String((Number(code) + 1) % 10_000).padStart(4, '0'))
    await page.getByRole('button', { name: 'Go on' }).click()
    expect(await page.getByRole('alert').innerText()).toContain('invalid_grant')
    const step = page.locator('.guide p')
    expect(await step.innerText()).toContain('Step 2 of 11')
    await page.getByRole('button', { name: 'Ask for given name and programme' }).click()
    await page.getByText('The wallet cannot answer').waitFor()
    expect(await page.getByRole('button', { name: 'Present' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Decline' }).click()
    await page.getByText('Declined. The verifier learns that').waitFor()
    for (const [link, words] of [
      ['https://example.com', 'this is a link of https:'],
      ['haip-vci://?credential_offer_uri=https://issuer.example/offer', 'cannot be reached'],
    ]) {
      await page.getByLabel('Link of an offer or a request').fill(link ?? '')
      await page.getByRole('button', { name: 'Open', exact: true }).click()
      await page
        .getByRole('alert')
        .filter({ hasText: words ?? '' })
        .waitFor()
    }
  })

  it('keeps its keys where no script reads them, and its cards and the step of the walk until it is emptied', async () => {
    const { page } = await open()
    await receive(page)
    const key = await page.evaluate(async () => {
      const database = await new Promise<IDBDatabase>((resolve) => {
        const opening = indexedDB.open('vouchsafe-wallet')
        opening.onsuccess = () => resolve(opening.result)
      })
      const kept = await new Promise<{ readonly privateKey: CryptoKey }[]>((resolve) => {
        const all = database.transaction('keys').objectStore('keys').getAll()
        all.onsuccess = () => resolve(all.result as { readonly privateKey: CryptoKey }[])
      })
      const [{ privateKey } = { privateKey: undefined }] = kept
      const exported = privateKey && (await crypto.subtle.exportKey('jwk', privateKey).catch(() => 'refused'))
      return [privateKey?.extractable, exported]
    })
    expect(key).toEqual([false, 'refused'])
    await page.reload()
    await page.getByText('Claims of the Student ID').click()
    expect(await page.locator('.guide p').innerText()).toContain('Step 4 of 11')
    await page.getByText('1843-0007').waitFor()
    await presentHonestly(page)
    expect(await page.evaluate(() => localStorage.length)).toBe(1)
    await page.getByRole('button', { name: 'Empty the wallet' }).click()
    await page.getByText('The wallet is empty.').waitFor()
    expect(await page.evaluate(() => localStorage.length)).toBe(0)
  })

  it('has nothing that axe finds at a desk and on a phone, in light and dark, and fits', async () => {
    for (const options of [{}, PHONE]) {
      const opened = await open(options)
      const { page } = opened
      await receive(page)
      expect(await faultsInAnyColours(opened)).toEqual([])
      await ask(page)
      await page.getByLabel('Wrong nonce').check()
      expect(await faultsInAnyColours(opened)).toEqual([])
      await page.getByRole('button', { name: 'Present' }).click()
      await page.locator('.verdict').waitFor()
      await page.getByRole('heading', { name: 'Report' }).waitFor()
      expect(await faultsInAnyColours(opened)).toEqual([])
    }
  })
})

/** Tests whether a part of the page, and nothing outside of it, has the focus. */
function hasFocus(part: Locator): Promise<boolean> {
  return part.evaluate((each) => each.contains(document.activeElement))
}

/** Tests whether the verdict is to be seen, below the guide that stays at the top. */
async function isInView(page: Page): Promise<boolean> {
  const [guide, verdict] = [await page.locator('.guide').boundingBox(), await page.locator('.verdict').boundingBox()]
  if (guide === null || verdict === null) return false
  return verdict.y >= guide.y + guide.height && verdict.y + verdict.height <= (page.viewportSize()?.height ?? 0)
}

async function isWithinWindow(page: Page, part: Locator): Promise<boolean> {
  const { y, height } = (await part.boundingBox()) ?? { y: -1, height: 0 }
  return y >= 0 && y + height <= (page.viewportSize()?.height ?? 0)
}

/** Runs in the page: tests whether something of what has the focus is to be seen. */
function isFocusInView(): boolean {
  const focused = document.activeElement
  const { left = 0, right = 0, top = 0, bottom = 0 } = focused?.getBoundingClientRect() ?? {}
  const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
  return above !== null && focused?.contains(above) === true
}
