/**
 * The pages of the console for whoever operates, in a browser: what they show and do, and that everybody can use them.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { hashSessionId } from '../../src/audit/record.ts'
import { readySession, startedSession } from '../support/issuance.ts'
import { ISSUER_URL, type Services } from '../support/services.ts'
import { act, issueWithStatus } from '../support/status.ts'
import { postForm, presentationOf, startVerification } from '../support/wire.ts'
import { describeInBrowser, faultsForSomebody, faultsInAnyColours, keepPicture, PHONE } from './browser.ts'
import { type OperatedConsole, operateConsole } from './operated-console.ts'

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

const HOUR = 3_600_000
const PAGES = ['overview', 'callbacks', 'trust', 'audit'] as const

describeInBrowser('the console for operating', (openWindow) => {
  let operated: OperatedConsole
  /** Whether the receiver of callbacks takes them. */
  let isUp = false
  const told: string[] = []
  beforeAll(async () => {
    operated = await operateConsole({
      issuer: { sessionCallback: { url: 'http://localhost:9/events' } },
      outbound: ({ body }) => {
        if (isUp) told.push((JSON.parse(String(body)) as { readonly type: string }).type)
        return Promise.resolve({ status: isUp ? 204 : 503, headers: {}, body: Buffer.from('') })
      },
    })
  })
  afterAll(() => operated.close())

  async function later(milliseconds: number): Promise<void> {
    operated.services.clock.now = new Date(operated.services.clock.now.getTime() + milliseconds)
    await operated.services.runTasks()
  }

  /** Lets the first event of so many sessions be given up, and one more session wait with two events. */
  async function deadAndWaiting(count: number): Promise<void> {
    isUp = false
    for (let n = 0; n < count; n += 1) {
      await issueWithStatus(operated.services)
      await later(1000)
    }
    // A callback at a time is tried while the receiver is down.
    for (let n = 0; n < 4 * count + 2; n += 1) await later(n === 0 ? 25 * HOUR : 60_000)
    const { sessionId } = await issueWithStatus(operated.services)
    await act(operated.services, 'suspend', sessionId)
    await later(1000)
  }

  it('says that there are no callbacks, and that a service has nobody to tell', async () => {
    const { page, faults } = await operated.open(openWindow, 'callbacks')
    await page.locator('#verifier').getByText('Dead: there are none.').waitFor()
    await page.locator('#issuer').getByText('Dead: there are none.').waitFor()
    const texts = await page.locator('section p').allInnerTexts()
    expect(texts.filter((text) => text.startsWith('None are configured: '))).toHaveLength(1)
    expect(await page.getByRole('button', { name: 'Deliver all dead again' }).count()).toBe(0)
    expect(faults).toEqual([])
  })

  it('lists the events that wait and those that were given up, and delivers one or all of these again', async () => {
    await deadAndWaiting(3)
    const { page, faults } = await operated.open(openWindow, 'callbacks')
    const [waiting, dead] = [page.getByRole('table', { name: 'Waiting' }), page.getByRole('table', { name: 'Dead' })]
    await dead.waitFor()
    expect(await waiting.locator('thead th').allInnerTexts()).toContain('Next delivery')
    const [row = ''] = await waiting.locator('tbody tr').allInnerTexts()
    expect(row).toMatch(/issuance\.succeeded, and 1 behind it.*1: the receiver answered 503/)
    keepPicture('console-callbacks', await page.screenshot())
    const again = dead.getByRole('button', { name: /^Deliver again: issuance\.succeeded of the session [\w-]+$/ })
    expect([await waiting.locator('tbody tr').count(), await again.count()]).toEqual([1, 3])

    await again.last().focus()
    await page.keyboard.press('Enter')
    await page.getByRole('status').filter({ hasText: 'issuance.succeeded waits for its delivery again.' }).waitFor()
    await expect.poll(() => again.count()).toBe(2)
    expect(await page.evaluate('document.activeElement.className')).toBe('again')
    await page.getByRole('button', { name: 'Deliver all dead again' }).press('Enter')
    await page.getByRole('status').filter({ hasText: '2 events wait for their delivery again.' }).waitFor()
    await page.locator('#issuer').getByText('Dead: there are none.').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Issuer')
    expect(await page.getByRole('button', { name: 'Deliver all dead again' }).count()).toBe(0)
    expect(await waiting.locator('tbody tr').count()).toBe(4)

    isUp = true
    for (let n = 0; n < 5; n += 1) await later(2 * HOUR)
    expect(told.filter((type) => type === 'issuance.succeeded')).toHaveLength(4)
    expect(faults).toEqual([])
  })

  it('keeps an event that another person has delivered again meanwhile, and says so', async () => {
    await deadAndWaiting(1)
    const first = await operated.open(openWindow, 'callbacks')
    const second = await operated.open(openWindow, 'callbacks')
    for (const { page } of [first, second]) await page.getByRole('button', { name: 'Deliver all dead again' }).waitFor()
    await first.page.getByRole('button', { name: 'Deliver all dead again' }).click()
    await first.page.getByRole('status').filter({ hasText: 'One event' }).waitFor()
    await second.page.getByRole('button', { name: /^Deliver again/ }).click()
    await second.page.getByRole('alert').filter({ hasText: 'it may be queued again already' }).waitFor()
  })

  it('says at first whether all is well, and counts the sessions of each hour', async () => {
    const { services } = operated
    const refused = await startedSession(services, { tx_code: { value: '493536' } })
    await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${refused.sessionId}`, {
      ...refused.form,
      tx_code: '0',
    })
    await startVerification(services)
    await later(HOUR)
    await issueWithStatus(services)
    await later(30 * 60_000)
    const { page, faults } = await operated.open(openWindow, 'overview')
    const ofIssuer = page.locator('#issuer')
    const states = ofIssuer.getByRole('table', { name: 'Sessions of the last 24 hours' })
    await states.waitFor()
    const row = (name: string) => states.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) })
    expect(await row('issued').getByRole('img').getAttribute('aria-label')).toMatch(/^by the hour: .* 1$/)
    expect(await row('expired').innerText()).toMatch(/expired\s+\d+\s+most: \d+ at/)
    const problems = ofIssuer.getByRole('table', { name: 'What went wrong in them' })
    expect(await problems.innerText()).toMatch(/token: invalid_grant\s+1\s/)
    expect(await ofIssuer.getByRole('link', { name: 'See the sessions of the issuer' }).getAttribute('href')).toBe(
      '#/sessions/issuer',
    )
    expect(await states.getByRole('link', { name: 'expired' }).getAttribute('href')).toBe('#/sessions/issuer/EXPIRED')
    await page.locator('#verifier').getByText('Not within the sessions that were counted.').waitFor()
    await ofIssuer.getByText(/signing: CN=issuer\.localhost, ends in 7\d\d days/).waitFor()
    expect(faults).toEqual([])
  })

  it('says at first what has to be looked at, and leads there', async () => {
    await deadAndWaiting(1)
    const { page } = await operated.open(openWindow, 'overview')
    await page
      .getByRole('status')
      .filter({ hasText: /Events of the issuer that were given up: \d/ })
      .waitFor()
    keepPicture('console-overview', await page.screenshot())
    await page.getByRole('link', { name: 'See the callbacks' }).first().click()
    await page.getByRole('heading', { name: 'Callbacks' }).waitFor()
  })

  it('tells whether a certificate would be trusted, by which anchor and until when, or why not', async () => {
    const opened = await operated.open(openWindow, 'trust', PHONE)
    const { page } = opened
    await page.getByRole('table', { name: 'As last read: 1' }).getByText('CN=issuer.localhost').waitFor()
    const test = async (pem: string): Promise<void> => {
      await page.getByLabel('Certificate (PEM)').fill(pem)
      await page.getByRole('button', { name: 'Test' }).click()
    }
    const verdict = page.getByRole('status')
    const { files } = operated.services
    await test(files.get('issuer.pem') ?? '')
    await verdict.getByText('trusted', { exact: true }).waitFor()
    expect(await verdict.locator('dl').innerText()).toMatch(
      /Trust anchor\s+CN=issuer\.localhost \(0\.pem\)[\s\S]*Valid until\s+in 7\d\d/,
    )
    await test(files.get('verifier.pem') ?? '')
    await verdict.getByText('not trusted', { exact: true }).waitFor()
    expect(await verdict.locator('.outcome.failed').count()).toBeGreaterThan(0)
    expect(await faultsForSomebody(opened)).toEqual([])
    await test('a certificate')
    await page.getByRole('alert').filter({ hasText: 'paste the text from BEGIN CERTIFICATE' }).waitFor()
    expect(await verdict.locator('dl').count()).toBe(0)
  })

  it('reads the audit log page by page, and says whether it is intact, or what was changed', async () => {
    const { services } = operated
    for (let n = 0; n < 15; n += 1) await startVerification(services)
    await later(1000)
    const { page, faults } = await operated.open(openWindow, 'audit')
    const log = page.locator('#verifier')
    const rows = log.getByRole('table', { name: 'Records, the newest first' }).locator('tbody tr')
    await rows.first().waitFor()
    expect(await rows.count()).toBe(20)
    expect(await rows.first().innerText()).toMatch(/(verification\.started|query\.created)\s+test\s/)
    const more = log.getByRole('button', { name: 'Show more' })
    await more.press('Enter')
    await expect.poll(() => rows.count()).toBeGreaterThan(30)
    expect(await rows.last().innerText()).toContain('audit.started')
    expect([await more.count(), await page.evaluate('document.activeElement.tagName')]).toEqual([0, 'TR'])

    // The page of a session has the name that the session has in the log.
    const { sessionId } = await startVerification(services)
    const ofSession = await operated.open(openWindow, `session/verifier/${sessionId}`)
    const name = await ofSession.page.locator('p', { hasText: 'In the audit log: ' }).locator('code').innerText()
    expect(name).toBe(hashSessionId(sessionId))
    await later(1000)
    const reread = await operated.open(openWindow, 'audit')
    await reread.page.getByRole('cell', { name, exact: true }).waitFor()

    const verified = log.getByRole('status')
    await log.getByRole('button', { name: 'Verify since the last signature' }).press('Enter')
    await verified.getByText('intact', { exact: true }).waitFor()
    await log.getByRole('button', { name: 'Verify the whole log' }).press('Enter')
    await verified.getByText(/^intact Records 1 to \d\d\.$/).waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Verify the whole log')
    await changeRecord(services)
    await log.getByRole('button', { name: 'Verify the whole log' }).press('Enter')
    await verified.getByText('not intact', { exact: true }).waitFor()
    expect(await verified.locator('li').first().innerText()).toMatch(/record \d+ is not what its hash was made of/)
    expect(faults).toEqual([])
  })

  it('has nothing that axe finds in a session of any kind', async () => {
    const { services } = operated
    const revoked = await issueWithStatus(services)
    await act(services, 'revoke', revoked.sessionId)
    const later = await readySession(services, { credential_dataset: undefined, deferred: true })
    const failed = await failedVerification(services)
    const places = [revoked.sessionId, later.sessionId].map((id) => `session/issuer/${id}`)
    for (const place of [...places, `session/verifier/${failed}`]) {
      for (const options of [{}, PHONE]) {
        const opened = await operated.open(openWindow, place, options)
        await opened.page.locator('.events li').first().waitFor()
        expect(await faultsInAnyColours(opened)).toEqual([])
      }
    }
  })

  it.each(PAGES)('has nothing that axe finds at a desk and on a phone, in light and dark: %s', async (place) => {
    await deadAndWaiting(1)
    for (const options of [{}, PHONE]) {
      const opened = await operated.open(openWindow, place, options)
      await opened.page.waitForLoadState('networkidle')
      await opened.page.locator('table').first().waitFor()
      expect(await faultsInAnyColours(opened)).toEqual([])
    }
  })
})

/** Changes a record of the verifier's log as somebody could who can write to its database. */
async function changeRecord({ verifierStore }: Services): Promise<void> {
  const id = '000000000001'
  const row = await verifierStore.get('audit_block', id)
  if (row === undefined) throw new Error('the log has no block')
  const records = row.value.records.map((record) => ({ ...record, caller: 'somebody else' }))
  await verifierStore.commit([{ update: 'audit_block', id, version: row.version, value: { records } }])
}

/** Starts a session whose wallet proved its key over another nonce than that of the request; resolves with its id. */
async function failedVerification(services: Services): Promise<string> {
  const { credential, holder } = await issueWithStatus(services)
  const { sessionId, request } = await startVerification(services)
  const wrong = { ...request, nonce: 'of another request' }
  const presentation = await presentationOf(credential, holder, wrong, { now: services.clock.now })
  const form = { vp_token: JSON.stringify({ card: [presentation] }), state: request.state }
  await postForm(services, request.response_uri, form)
  return sessionId
}
