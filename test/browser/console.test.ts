/** The console in a browser: the whole walk with a wallet, what goes wrong, and that everybody can use it. */
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { WalletContext } from '../../src/wallet/context.ts'
import { decline, makeResponse, planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { memoryStore } from '../support/wallet.ts'
import { describeInBrowser, faultsInAnyColours, type OpenPage, PHONE, readCode } from './browser.ts'
import { type RunningConsole, startConsole } from './console-process.ts'
import { setVirtualWallet } from './virtual-wallet.ts'

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

const PAGES = ['issue', 'verify', 'sessions'] as const

describeInBrowser('the console', (openWindow) => {
  const wallet: WalletContext = {
    fetch,
    now: () => new Date(),
    random: randomBytes,
    store: memoryStore(new Map()),
    wait: (seconds) => setTimeout(seconds * 1000),
  }
  let running: RunningConsole
  beforeAll(async () => {
    running = await startConsole({})
  })
  afterAll(() => running.stop())

  const open = (place: string, options: BrowserContextOptions = {}): Promise<OpenPage> =>
    running.open(openWindow, place, options)

  /** Chooses the configuration in the page, which is stored at first. */
  async function chooseConfiguration(page: Page): Promise<void> {
    const stored = page.locator('.choice').first()
    const store = page.getByRole('button', { name: 'Store' })
    await stored.or(store).first().waitFor()
    if ((await stored.count()) === 0) await store.click()
    await stored.click()
  }

  /** Makes an offer in the page; resolves with its link. */
  async function offer(page: Page, hasCode = false): Promise<string> {
    await chooseConfiguration(page)
    await page.getByLabel('given_name').fill('Ada')
    if (hasCode) await page.getByLabel('Ask the holder for a transaction code').check()
    await page.getByRole('button', { name: 'Make the offer' }).click()
    return walletLink(page)
  }

  /** Makes an offer whose data comes later; resolves with its link. */
  async function offerLater(page: Page): Promise<string> {
    await chooseConfiguration(page)
    await page.getByLabel('The data comes later').check()
    await page.getByRole('button', { name: 'Make the offer' }).click()
    return walletLink(page)
  }

  /** Asks for a claim in the page; resolves with the link of the request. */
  async function ask(page: Page): Promise<string> {
    await page.getByRole('link', { name: 'Verify', exact: true }).click()
    await page.getByLabel('Given name', { exact: true }).check()
    await page.getByRole('button', { name: 'Ask' }).click()
    return walletLink(page)
  }

  it('issues, receives, asks, verifies and revokes, by the code that a wallet would scan', async () => {
    const { page, faults } = await open('issue')
    const offered = await offer(page)
    await page.locator('svg.qr').scrollIntoViewIfNeeded()
    expect(await readCode(page)).toBe(offered)
    await receiveOffer(wallet, offered)
    await page.getByText('A credential was issued.').waitFor()
    await sendPresentation(wallet, await planPresentation(wallet, await ask(page)))
    await page.getByRole('heading', { name: 'Report' }).waitFor()
    expect(await page.locator('dl.claims').innerText()).toMatch(/^Given name\s+Ada$/)
    expect(await page.locator('.outcome.failed').count()).toBe(0)
    expect(await page.locator('.outcome.passed').count()).toBeGreaterThan(15)
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.locator('tbody a').first().click()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('The credentials are VALID.').waitFor()
    await page.getByRole('button', { name: 'Revoke for good?' }).click()
    await page.getByText('The credentials are REVOKED.').waitFor()
    expect(await page.getByRole('button', { name: 'Suspend' }).count()).toBe(0)
    expect(faults).toEqual([])
  })

  it('shows why a wallet was refused, as it happens', async () => {
    const { page } = await open('issue')
    const offered = await offer(page, true)
    const code = await page.locator('strong.code').innerText()
    expect(code).toMatch(/^\d{6}$/)
    const wrong = String((Number(code) + 1) % 1_000_000).padStart(6, '0')
    await expect(receiveOffer(wallet, offered, { askTxCode: () => Promise.resolve(wrong) })).rejects.toThrow()
    await page.getByText(/refused at the token endpoint: invalid_grant/).waitFor()
    await receiveOffer(wallet, offered, { askTxCode: () => Promise.resolve(code) })
    await page.getByText('A credential was issued.').waitFor()
  })

  it('completes a deferred session with its data, for a wallet that waits', async () => {
    const { page, faults } = await open('issue')
    const received = receiveOffer(wallet, await offerLater(page))
    await page.getByText('Requests of wallets that wait for the data: 1.').waitFor()
    await page.getByLabel('given_name').fill('Grace')
    await page.getByRole('button', { name: 'Complete the session' }).click()
    await page.getByText('The session got its data.').waitFor()
    expect(JSON.stringify(await received)).toContain('Grace')
    await page.getByText('A credential was issued.').waitFor()
    expect(faults).toEqual([])
  })

  it('denies a deferred session, tells the wallet why, and has that at its time', async () => {
    const { page } = await open('issue')
    const received = receiveOffer(wallet, await offerLater(page)).catch((error: unknown) => String(error))
    await page.getByText('Requests of wallets that wait for the data: 1.').waitFor()
    await page.getByLabel('Reason, for the wallet').fill('The board has not met.')
    await page.getByRole('button', { name: 'Deny the credential' }).click()
    const denial = page.locator('.events li').filter({ hasText: 'The credential was denied.' })
    await denial.waitFor()
    expect(await page.locator('.state').innerText()).toBe('denied')
    const at = Date.parse((await denial.locator('time').getAttribute('datetime')) ?? '')
    expect(Math.abs(Date.now() - at)).toBeLessThan(60_000)
    expect(await received).toContain('The board has not met.')
  })

  it('says until when a verifier may not have seen a suspension, and that it ended', async () => {
    const { page, faults } = await open('issue')
    await receiveOffer(wallet, await offer(page))
    await page.getByRole('button', { name: 'Suspend' }).click()
    const still = page.locator('.warning')
    await still
      .getByText(/^Until .* a verifier that has the status list of before may still accept the credential\.$/)
      .waitFor()
    await page.getByRole('button', { name: 'Reinstate' }).click()
    await still.getByText(/may still refuse the credential\.$/).waitFor()
    expect(faults).toEqual([])
  })

  it('lets the browser find the wallet, again where the person cancelled, and says which way the response came', async () => {
    const { page, faults } = await open('issue')
    await receiveOffer(wallet, await offer(page))
    const link = await ask(page)
    const uri = new URL(link).searchParams.get('request_uri') ?? ''
    const address = uri.replace('authorization-request', 'digital-credentials')
    const plan = await planPresentation(wallet, address, new URL(page.url()).origin)
    const { recipient } = plan.request
    if (!('origin' in recipient)) throw new Error('the response goes to no page')
    const button = page.getByRole('button', { name: 'Let the browser find a wallet' })
    await button.waitFor()
    await setVirtualWallet(page, { action: 'decline' })
    await button.click()
    await page.getByText('That was not completed').waitFor()
    const response = await makeResponse(wallet, plan)
    await setVirtualWallet(page, { action: 'respond', protocol: recipient.protocol, response })
    await button.click()
    await page.getByText('The response came through the browser, encrypted').waitFor()
    expect(await page.locator('.outcome.failed').count()).toBe(0)
    expect(await page.getByText('That was not completed').isVisible()).toBe(false)
    expect(faults).toEqual([])
  })

  it('shows the code alone where the browser has no such way', async () => {
    const { page } = await open('verify')
    await page.evaluate(() => Reflect.deleteProperty(globalThis, 'DigitalCredential'))
    const { searchParams } = new URL(await ask(page))
    const uri = searchParams.get('request_uri') ?? ''
    expect((await fetch(uri.replace('authorization-request', 'digital-credentials'))).status).toBe(404)
    expect(await page.getByRole('button', { name: 'Let the browser find a wallet' }).count()).toBe(0)
  })

  it('shows that the holder declined', async () => {
    const { page } = await open('verify')
    await decline(wallet, await planPresentation(wallet, await ask(page)))
    await page.getByText('declined by its holder').waitFor()
  })

  it('tells a mistake in a configuration and in a query beside them, and stores neither', async () => {
    const { page } = await open('issue')
    await page.getByText('New credential configuration').click()
    await page.getByLabel('Configuration').fill('{"format": "dc+sd-jwt"}')
    await page.getByRole('button', { name: 'Store' }).click()
    expect(await page.getByRole('alert').innerText()).toMatch(/vct/)
    await page.getByRole('link', { name: 'Verify', exact: true }).click()
    await page.getByLabel('Query (DCQL)').fill('{"credentials": []}')
    await page.getByRole('button', { name: 'Ask' }).click()
    await page.getByRole('alert').filter({ hasText: 'credentials' }).waitFor()
  })

  it('tells beside its line why a query cannot be read, and asks nobody', async () => {
    const { page, faults } = await open('verify')
    await page.getByLabel('Query (DCQL)').fill('{\n  "credentials": [}\n}')
    await page.getByRole('button', { name: 'Ask' }).click()
    await page.getByRole('alert').filter({ hasText: 'Line 2: ' }).waitFor()
    expect(await page.locator('.numbers .wrong').allInnerTexts()).toEqual(['2'])
    expect([await page.locator('svg.qr').count(), faults]).toEqual([0, []])
  })

  it('says before anybody is asked which credential would answer, and which not', async () => {
    const { page } = await open('verify')
    await page.getByLabel('Given name', { exact: true }).first().check()
    await page.getByText('A wallet with these credentials could answer.').waitFor()
    await page.locator('.tried').getByText('discloses given_name').first().waitFor()
    const query = await page.getByLabel('Query (DCQL)').inputValue()
    await page.getByLabel('Query (DCQL)').fill(query.replace('"given_name"', '"shoe_size"'))
    await page.getByText('A wallet with all of these credentials could not answer.').waitFor()
  })

  it('adds to the query what is ticked, and takes out what is not any more', async () => {
    const { page } = await open('verify')
    const paths = async (): Promise<unknown> => {
      const text = await page.getByLabel('Query (DCQL)').inputValue()
      const { credentials } = JSON.parse(text) as { credentials: { claims?: { path: string[] }[] }[] }
      return credentials.map(({ claims }) => claims?.map(({ path }) => path.join('.')))
    }
    await page.getByLabel('Given name', { exact: true }).check()
    await page.getByLabel('Family name', { exact: true }).check()
    expect(await paths()).toEqual([['given_name', 'family_name']])
    await page.getByLabel('Given name', { exact: true }).uncheck()
    expect(await paths()).toEqual([['family_name']])
  })

  it('finds a session by its id, says when there is none, and lists those of one credential', async () => {
    const { page } = await open('issue')
    await offer(page)
    await page.getByRole('link', { name: 'Sessions', exact: true }).click()
    const link = page.locator('tbody a').first()
    const id = decodeURIComponent((await link.getAttribute('href'))?.split('/').at(-1) ?? '')
    const find = async (text: string): Promise<void> => {
      await page.getByRole('link', { name: 'Sessions', exact: true }).click()
      await page.getByLabel('Session id').fill(text)
      await page.getByRole('button', { name: 'Find' }).click()
    }
    const name = await page.getByLabel('Credential').locator('option').nth(1).innerText()
    expect(await page.locator('tbody tr').first().innerText()).toContain(name)
    await find(` ${id} `)
    await page.getByText('The session was started.').waitFor()
    expect(await page.locator('main').innerText()).toContain(id)
    expect(await page.locator('main .card').first().innerText()).toContain(name)
    expect(await page.locator('nav a[aria-current]').allInnerTexts()).toEqual(['Sessions'])
    await find('of-nobody')
    expect(await page.getByRole('alert').innerText()).toBe('There is no such session.')
    await page.getByRole('link', { name: 'Sessions', exact: true }).click()
    const choices = page.getByLabel('Credential').locator('option')
    await expect.poll(() => choices.count()).toBeGreaterThan(1)
    await page.getByLabel('Credential').selectOption({ index: 1 })
    await expect.poll(() => page.url()).toMatch(/#\/sessions\/issuer\/\/[\w-]+$/)
    // The menu has the words of the table.
    const states = page.getByLabel('State').locator('option')
    await expect.poll(() => states.allInnerTexts()).toEqual(['all', 'open', 'issued', 'expired'])
    await page.getByLabel('State').selectOption('expired')
    await page.getByText('Sessions of the issuer: there are none.').waitFor()
  })

  it('lists the sessions of the verifier that have one query', async () => {
    const { page } = await open('verify')
    for (const id of ['one', 'another']) {
      const query = { credentials: [{ id, format: 'dc+sd-jwt', meta: { vct_values: [`urn:${id}`] } }] }
      await page.getByLabel('Query (DCQL)').fill(JSON.stringify(query))
      await page.getByRole('button', { name: 'Ask', exact: true }).click()
      await page.getByText('The session was started.').waitFor()
      await page.getByRole('link', { name: 'Verify', exact: true }).click()
    }
    await page.getByRole('link', { name: 'Sessions', exact: true }).click()
    await page.getByLabel('Service').selectOption('verifier')
    const rows = page.locator('tbody tr')
    await expect.poll(() => rows.count()).toBeGreaterThan(1)
    const query = rows.first().getByRole('link').nth(1)
    const id = await query.getAttribute('title')
    await query.click()
    await expect.poll(() => page.getByLabel('Query').inputValue()).toBe(id)
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByLabel('Query').selectOption('all')
    await expect.poll(() => rows.count()).toBeGreaterThan(1)
  })

  it('opens the first page by the address of no page, and a page by an address with a percent sign', async () => {
    const { page } = await open('constructor')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.evaluate(() => {
      location.hash = '#/wallet/100%'
    })
    await page.getByText('this is not a link').waitFor()
  })

  it('begins the open page anew by its own link in the menu', async () => {
    const { page } = await open('verify')
    await page.getByLabel('Query (DCQL)').fill('{}')
    await page.getByRole('link', { name: 'Verify', exact: true }).click()
    await expect.poll(() => page.getByLabel('Query (DCQL)').inputValue()).toContain('credentials')
  })

  it('shows a text of an issuer as text, whatever is in it', async () => {
    const { page, faults } = await open('issue')
    await page.getByText('New credential configuration').click()
    const name = '<img src=x onerror="document.title=1">'
    const display = { name, background_color: 'red;position:fixed', logo: { uri: 'javascript:alert(1)' } }
    const configuration = { format: 'dc+sd-jwt', vct: 'urn:x', credential_metadata: { display: [display] } }
    await page.getByLabel('Configuration').fill(JSON.stringify(configuration))
    expect(await page.locator('.columns .credential strong').innerText()).toBe(name)
    expect(await page.locator('.columns .credential img').count()).toBe(0)
    expect(await page.locator('.columns .credential').getAttribute('style')).toBeNull()
    expect([await page.title(), faults]).toEqual(['Issue · Vouchsafe console', []])
  })

  it.each(PAGES)(
    'has nothing that axe finds at a desk and on a phone, in light and dark, and fits it: %s',
    async (place) => {
      for (const options of [{}, PHONE]) {
        const opened = await open(place, options)
        await opened.page.waitForLoadState('networkidle')
        expect(await faultsInAnyColours(opened)).toEqual([])
      }
    },
  )

  it('is used by keys alone', async () => {
    const { page } = await open('overview')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content')
    for (const title of ['Overview', 'Issue', 'Verify']) {
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement.textContent')).toBe(title)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Verify a credential' }).waitFor()
  })

  it('lets nobody in by a link that was used', async () => {
    const first = await open('overview')
    const { page } = await openWindow()
    await page.goto(running.link)
    expect(await page.locator('body').innerText()).toContain('This link has been used')
    await page.goto(first.page.url())
    expect(await page.locator('body').innerText()).toContain('Sign in by the link')
  })
})

/** Returns the link for a wallet that the page shows. */
async function walletLink(page: Page): Promise<string> {
  return (await page.getByRole('link', { name: 'Open in a wallet on this device' }).getAttribute('href')) ?? ''
}
