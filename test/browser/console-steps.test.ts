/** The steps of the console in a browser: what strangers write into it, double clicks, and where the focus is. */
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { WalletContext } from '../../src/wallet/context.ts'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { memoryStore } from '../support/wallet.ts'
import { describeInBrowser, type OpenPage } from './browser.ts'
import { type RunningConsole, startConsole } from './console-process.ts'

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

const VCT = 'urn:steps'
const LONG = 'a'.repeat(200)
const CLAIMS = [
  { path: ['given_name'], display: [{ name: 'Given name' }] },
  { path: ['address', 'country'], display: [{ name: 'Country' }] },
  { path: ['long', LONG], display: [{ name: LONG }] },
]
const DISPLAY = { name: `Steps ${LONG}`, background_color: '#ffffff', text_color: '#ffffff' }
const CONFIGURATION = { format: 'dc+sd-jwt', vct: VCT, credential_metadata: { display: [DISPLAY], claims: CLAIMS } }
const ASKED = [['given_name'], ['address', 'country'], ['address', 'lines'], ['address.country']]
const QUERY = {
  credentials: [
    { id: 'steps', format: 'dc+sd-jwt', meta: { vct_values: [VCT] }, claims: ASKED.map((path) => ({ path })) },
  ],
}

describeInBrowser('the steps of the console', (openWindow) => {
  const wallet: WalletContext = {
    fetch,
    now: () => new Date(),
    random: randomBytes,
    store: memoryStore(new Map()),
    wait: (seconds) => setTimeout(seconds * 1000),
  }
  let running: RunningConsole
  let configurationId = ''
  beforeAll(async () => {
    running = await startConsole({})
  })
  afterAll(() => running.stop())

  /** Opens a page; the configuration is stored before the first. */
  async function open(place: string): Promise<OpenPage> {
    const opened = await running.open(openWindow, 'trust')
    if (configurationId === '') {
      const path = 'api/issuer/credential-configuration/create'
      configurationId = await postText(opened.page, path, CONFIGURATION)
    }
    await go(opened.page, place)
    return opened
  }

  /** Issues a credential of the dataset in the page, and goes to its session. */
  async function issue(page: Page, credential_dataset: object): Promise<string> {
    const session = { credential_configurations: [configurationId], credential_dataset }
    const started = await post(page, 'api/issuer/issuance/oid4vci/new-session', session)
    await receiveOffer(wallet, String(started.credential_offer_uri))
    return String(started.session_id)
  }

  it('show the words of a holder in their own direction, and every claim that was disclosed under its own label', async () => {
    const { page, faults } = await open('issue')
    await issue(page, {
      given_name: 'Ada \u202edeifirev',
      'address.country': 'Elsewhere',
      address: { country: 'Here', lines: {} },
    })
    await go(page, 'verify')
    await page.getByLabel('Query (DCQL)').fill(JSON.stringify(QUERY))
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    const link = await page.getByRole('link', { name: 'Open in a wallet on this device' }).getAttribute('href')
    await sendPresentation(wallet, await planPresentation(wallet, link ?? ''))
    await page.getByRole('heading', { name: 'Report' }).waitFor()
    const claims = await page.locator('dl.claims').innerText()
    expect(claims).toContain('Ada \ufffddeifirev')
    expect(claims).toMatch(/Country\s+Here/)
    expect(claims).toMatch(/\["address\.country"\]\s+Elsewhere/)
    expect(claims).toMatch(/address\.lines\s+\{\}/)
    expect(faults).toEqual([])
  })

  it('revoke by no double click, and by a second one', async () => {
    const { page } = await open('issue')
    await go(page, `session/issuer/${await issue(page, { given_name: 'Ada' })}`)
    await page.getByRole('button', { name: 'Revoke' }).dblclick()
    await page.getByRole('button', { name: 'Revoke for good?' }).waitFor()
    await setTimeout(1500)
    expect(await page.getByText('The credentials are VALID.').count()).toBe(1)
    await page.getByRole('button', { name: 'Revoke for good?' }).click()
    await page.getByText('The credentials are REVOKED.').waitFor()
  })

  it('keep the focus near a button that is gone after it was pressed', async () => {
    const { page } = await open('issue')
    await go(page, `session/issuer/${await issue(page, { given_name: 'Ada' })}`)
    await page.getByRole('button', { name: 'Suspend' }).press('Enter')
    await page.getByRole('button', { name: 'Reinstate' }).waitFor()
    expect(await focusedText(page)).toContain('The credentials are SUSPENDED.')
  })

  it('keep the question of the button that revokes, and its focus, while a wallet sends a notification', async () => {
    const { page } = await open('issue')
    const started = await post(page, 'api/issuer/issuance/oid4vci/new-session', {
      credential_configurations: [configurationId],
      credential_dataset: { given_name: 'Ada' },
    })
    let notify: () => void = () => undefined
    const asked = new Promise<void>((resolve) => (notify = resolve))
    const slowWallet: WalletContext = {
      ...wallet,
      fetch: async (input, init) => {
        const url = input instanceof Request ? input.url : String(input)
        if (url.includes('/notification')) await asked
        return wallet.fetch(input, init)
      },
    }
    const received = receiveOffer(slowWallet, String(started.credential_offer_uri))
    await go(page, `session/issuer/${String(started.session_id)}`)
    await page.getByRole('button', { name: 'Revoke' }).press('Enter')
    await page.getByRole('button', { name: 'Revoke for good?' }).waitFor()
    const before = await page.locator('.events li').count()
    notify()
    await received
    await expect.poll(() => page.locator('.events li').count()).toBeGreaterThan(before)
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Revoke for good?')
  })

  it('keep the focus of who types the data of a session while a wallet fetches the offer', async () => {
    const { page } = await open('issue')
    const started = await post(page, 'api/issuer/issuance/oid4vci/new-session', {
      credential_configurations: [configurationId],
      deferred: true,
    })
    await go(page, `session/issuer/${String(started.session_id)}`)
    const name = page.getByLabel('Given name')
    await name.click()
    await page.keyboard.type('Ad')
    const received = receiveOffer(wallet, String(started.credential_offer_uri))
    await page.getByText('Requests of wallets that wait for the data: 1.').waitFor()
    await page.keyboard.type('a Lovelace')
    expect(await name.inputValue()).toBe('Ada Lovelace')
    await page.getByRole('button', { name: 'Complete the session' }).dblclick()
    await page.getByText('The session got its data.').waitFor()
    expect(await page.getByRole('alert').filter({ visible: true }).count()).toBe(0)
    await received
  })

  it('take the focus with them, make one offer and one request by a double click, and say that a code is shown once', async () => {
    const { page, requests } = await open('issue')
    const started = (path: string) => requests.filter((each) => each.endsWith(path)).length
    await page.getByRole('button', { name: /^Steps/ }).press('Enter')
    await page.getByRole('button', { name: 'Make the offer' }).waitFor()
    expect(await focusedText(page)).toContain('Make the offer')
    await page.getByLabel('Given name').fill('Ada')
    await page.getByRole('button', { name: 'Make the offer' }).dblclick()
    await page.getByText('is not shown again').waitFor()
    expect(await focusedText(page)).toContain('is not shown again')
    await setTimeout(1000)
    expect(started('/issuance/oid4vci/new-session')).toBe(1)
    await go(page, 'verify')
    await page.getByRole('button', { name: 'Ask', exact: true }).dblclick()
    await page.getByText('is not shown again').waitFor()
    await setTimeout(1000)
    expect(await focusedText(page)).toContain('is not shown again')
    expect(started('/verification-query/create')).toBe(1)
  })

  it('fit a phone, however long the names of strangers are', async () => {
    const { page } = await open('verify')
    await page.setViewportSize({ width: 320, height: 700 })
    await page.locator('.tried').first().waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    await go(page, 'issue')
    await page.locator('.choice').first().waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    await page.locator('.choice').first().click()
    await page.getByRole('button', { name: 'Make the offer' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
  })

  it('keep the name of a card in its place, in the wallet of the page too, however hostile it is', async () => {
    const { page, faults } = await open('wallet')
    await page.setViewportSize({ width: 320, height: 900 })
    const cards = page.locator('.pane .credential')
    // The issuer of the tests refuses such names; one of a stranger need not.
    let shownName = ''
    await page.route(/\/\.well-known\/openid-credential-issuer/, async (route) => {
      const response = await route.fetch()
      const body = (await response.text()).replaceAll('"Library card"', JSON.stringify(shownName))
      await route.fulfill({ response, body })
    })
    const display = [{ name: 'Library card' }]
    const path = 'api/issuer/credential-configuration/create'
    const hostile = { format: 'dc+sd-jwt', vct: 'urn:hostile', credential_metadata: { display } }
    const id = await postText(page, path, hostile)
    const offer = async (name: string): Promise<void> => {
      shownName = name
      const session = { credential_configurations: [id], credential_dataset: { given_name: 'Ada' } }
      const started = await post(page, 'api/issuer/issuance/oid4vci/new-session', session)
      await go(page, `wallet/${encodeURIComponent(String(started.credential_offer_uri))}`)
      await page.getByRole('button', { name: 'Receive' }).waitFor()
    }
    await offer('Library card')
    const harmless = await around(page)
    expect(await areWithin(cards)).toBe(true)
    const names = {
      turning: 'Library \u202edrac\u2066\u2067\u2069\u200f card',
      long: 'W'.repeat(2000),
      towering: `Lib${'\u0301'.repeat(300)}rary${'\u0330'.repeat(300)} card`,
    }
    for (const [kind, name] of Object.entries(names)) {
      await offer(name)
      const kept = await around(page)
      // A long name moves what is below it.
      const sides = kind === 'long' ? (['above'] as const) : (['above', 'below'] as const)
      for (const side of sides) expect([kind, side, kept[side] === harmless[side]]).toEqual([kind, side, true])
      expect([kind, await areWithin(cards)]).toEqual([kind, true])
      if (kind === 'turning') expect(await cards.innerText()).toBe('Library \ufffddrac\ufffd\ufffd\ufffd card')
      await page.getByRole('button', { name: 'Receive' }).click()
      await page.getByText('Received:').waitFor()
      expect([kind, await areWithin(cards)]).toEqual([kind, true])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    }
    expect(faults).toEqual([])
  })

  it('draw a card that can be read, with the picture of its address, and without what is no text', async () => {
    const { page, requests } = await open('issue')
    await page.getByText('New credential configuration').click()
    const card = page.locator('.columns .credential')
    const draw = (display: object) =>
      page
        .getByLabel('Configuration')
        .fill(JSON.stringify({ format: 'dc+sd-jwt', vct: 'urn:x', credential_metadata: { display: [display] } }))
    const color = () => card.evaluate((each) => getComputedStyle(each).color)
    for (const [background_color, text_color, shown] of [
      ['#ffffff', undefined, 'rgb(0, 0, 0)'],
      ['#FFF', '#fff', 'rgb(0, 0, 0)'],
      ['#1d3f72', undefined, 'rgb(255, 255, 255)'],
      ['#112233', '#123', 'rgb(255, 255, 255)'],
      ['#1d3f72', '#ffff00', 'rgb(255, 255, 0)'],
      ['#ffffff', '#00000000', 'rgb(0, 0, 0)'],
      ['#ffffff00', undefined, 'rgb(255, 255, 255)'],
      ['#12345', undefined, 'rgb(255, 255, 255)'],
      [undefined, '#39424f', 'rgb(255, 255, 255)'],
    ] as const) {
      await draw({ name: 'Card', ...(background_color && { background_color }), ...(text_color && { text_color }) })
      expect([background_color, text_color, await color()]).toEqual([background_color, text_color, shown])
    }
    await draw({ name: 'Card', description: { of: 'a stranger' } })
    expect(await card.innerText()).toBe('Card')
    await draw({ name: 'Card', background_image: { uri: 'https://127.0.0.1:9/a%20b.png?")\\c' } })
    await expect.poll(() => requests.filter((each) => each.startsWith('https://127.0.0.1:9/'))).toHaveLength(1)
    expect(requests.find((each) => each.startsWith('https://127.0.0.1:9/'))).toBe(
      'https://127.0.0.1:9/a%20b.png?%22)%5Cc',
    )
    await draw({ name: 'Card', background_image: { uri: 'data:image/svg+xml,%3Csvg%3E' } })
    const behind = await card.locator('strong').evaluate((each) => getComputedStyle(each).backgroundColor)
    expect(behind).toBe('rgb(57, 66, 79)')
    const image = await card.evaluate((each) => getComputedStyle(each).backgroundImage)
    expect(image).toBe('url("data:image/svg+xml,%3Csvg%3E")')
  })
})

/** Goes to a page of the console. */
async function go(page: Page, place: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash
  }, `#/${place}`)
  await page.locator('h1').waitFor()
}

/** Returns the text of what has the focus, and none where nothing of the page has it. */
function focusedText(page: Page): Promise<string> {
  return page.evaluate(() => document.querySelector<HTMLElement>('main :focus')?.innerText ?? '')
}

/** Returns the pixels of what is above the card of the wallet and of what is below it; the buttons stay in view. */
async function around(page: Page): Promise<{ readonly above: string; readonly below: string }> {
  const [from, top, bottom, to] = await page.locator('.pane .credential').evaluate((card) => {
    const { top, bottom } = card.getBoundingClientRect()
    const before = card.previousElementSibling?.getBoundingClientRect().top
    const after = card.nextElementSibling?.getBoundingClientRect().bottom
    const edges = [before, top, bottom, after].map((edge = Number.NaN) => Math.round(edge + scrollY))
    return edges as [number, number, number, number]
  })
  const shoot = async (y: number, end: number): Promise<string> => {
    const shot = await page.screenshot({ clip: { x: 0, y, width: 320, height: end - y }, fullPage: true })
    return shot.toString('base64')
  }
  return { above: await shoot(from, top), below: await shoot(bottom, to) }
}

/** Tests whether there are cards, and each is between the sides of its pane with all that it shows. */
function areWithin(cards: Locator): Promise<boolean> {
  return cards.evaluateAll((all) => {
    const isIn = all.map((card) => {
      const [own, pane] = [card.getBoundingClientRect(), card.closest('.pane')?.getBoundingClientRect()]
      const hasRoom = pane !== undefined && own.left >= pane.left && own.right <= pane.right
      return hasRoom && card.scrollWidth <= card.clientWidth && card.scrollHeight <= card.clientHeight
    })
    return isIn.length > 0 && !isIn.includes(false)
  })
}

async function post(page: Page, path: string, body: object): Promise<Record<string, unknown>> {
  return JSON.parse(await postText(page, path, body)) as Record<string, unknown>
}

async function postText(page: Page, path: string, body: object): Promise<string> {
  const answer = await page.evaluate(
    async ([to, text]) => {
      const response = await fetch(to, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text })
      return { status: response.status, text: await response.text() }
    },
    [path, JSON.stringify(body)] as const,
  )
  expect([200, 201]).toContain(answer.status)
  return answer.text
}
