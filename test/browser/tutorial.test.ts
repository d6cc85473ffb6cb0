/**
 * The tutorial, step by step: each name in bold in docs/tutorial.md is pressed here, and nothing else. Makes the
 * pictures of the tutorial, and writes them to docs/pictures when VOUCHSAFE_TEST_PICTURES is `write`.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { ROOT, textOf } from '../support/documents.ts'
import { describeInBrowser, keepPicture } from './browser.ts'
import { type RunningConsole, startConsole } from './console-process.ts'

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

const PAGE = 'docs/tutorial.md'
const MARGIN = 16
/** The height at which a long list is cut off, which is enough to show what it is. */
const TALLEST = 620

describeInBrowser('the tutorial', (openWindow) => {
  let console: RunningConsole
  beforeAll(async () => {
    const verifier = { clientMetadata: { clientName: 'Example Library' } }
    console = await startConsole({ issuer: { statusList: { ttlSeconds: 1 } }, verifier })
  })
  afterAll(() => console.stop())

  it('leads from nothing to a credential that was verified and then revoked', async () => {
    const { page, faults } = await console.open(openWindow, 'wallet', { viewport: { width: 1000, height: 1100 } })
    const pressed: string[] = []
    const pictures: string[] = []
    /** Presses what the tutorial names in bold. */
    const press = async (name: string, part: Page | Locator = page): Promise<void> => {
      pressed.push(name)
      const named = { name, exact: true }
      const control = part
        .getByRole('button', named)
        .or(part.getByRole('link', named))
        .or(part.getByRole('radio', named))
      await control.first().click()
    }
    const picture = async (name: string, part: Locator): Promise<void> => {
      pictures.push(`pictures/${name}.png`)
      await part.scrollIntoViewIfNeeded()
      const { x = 0, y = 0, width = 0, height = 0 } = (await part.boundingBox()) ?? {}
      const size = { width: width + 2 * MARGIN, height: Math.min(height + 2 * MARGIN, TALLEST) }
      const clip = { x: x - MARGIN, y: y - MARGIN, ...size }
      // The guide floats above the page.
      const show = (visibility: string) =>
        page.locator('.guide').evaluateAll((guides, value) => {
          for (const guide of guides) (guide as HTMLElement).style.visibility = value
        }, visibility)
      await show('hidden')
      const bytes = await page.screenshot({ clip })
      await show('visible')
      keepPicture(name, bytes)
    }

    await press('Offer a student ID')
    await press('Receive')
    pressed.push('Transaction code')
    await page.getByLabel('Transaction code').fill(await page.locator('strong.code').innerText())
    await press('Go on')
    await page.getByText('Received: Student ID.').waitFor()
    await picture('tutorial-card', page.locator('.pane').last())

    await press('Ask for given name and programme')
    await page.getByText('It will not see').waitFor()
    expect(await page.locator('.pane').last().innerText()).toContain('Example Library asks')
    await picture('tutorial-consent', page.locator('.pane').last())
    await press('Present')
    await page.getByText('Presented, and the verifier took it.').waitFor()
    await page.getByRole('heading', { name: 'Report' }).waitFor()
    expect(await page.locator('.checks .failed').count()).toBe(0)
    await picture('tutorial-report', page.locator('.checks').last())

    await press('Ask for given name and programme')
    await press('Wrong nonce')
    await press('Present')
    await page.locator('.verdict').waitFor()
    const presentedAt = Date.now()
    expect(await page.locator('.verdict').innerText()).toContain('holder.nonce')
    await picture('tutorial-caught', page.locator('.verdict'))

    await press('Sessions')
    await page.locator('tbody a').first().click()
    await press('Revoke')
    await press('Revoke for good?')
    await page.getByText('The credentials are REVOKED.').waitFor()
    await press('Wallet')
    await press('Ask for given name and programme')
    // The verifier kept the list for as long as the issuer says, since the last presentation at the latest.
    await page.waitForTimeout(Math.max(0, presentedAt + 5500 - Date.now()))
    await press('Present')
    await page.getByRole('heading', { name: 'Report' }).waitFor()
    await picture('tutorial-revoked', page.locator('.checks tr.failed').first())
    expect(await page.locator('.checks tr.failed th').first().getAttribute('title')).toContain('status.valid')
    expect(faults).toEqual([])

    const text = textOf(PAGE)
    const bold = [...text.matchAll(/\*\*([^*]+)\*\*/g)].map(([, name = '']) => name)
    expect(bold).toEqual(pressed)
    const shown = [...text.matchAll(/\]\((pictures\/[^)]+)\)/g)].map(([, path = '']) => path)
    expect(shown).toEqual(pictures)
    expect(shown.filter((path) => !existsSync(join(ROOT, 'docs', path)))).toEqual([])
  })
})
