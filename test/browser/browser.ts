/**
 * A browser that is on this machine, for tests of pages: VOUCHSAFE_TEST_BROWSER may have its path. Where there is none,
 * the tests say so and are left out, unless VOUCHSAFE_TEST_BROWSER is `required`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ROOT } from '../support/documents.ts'

/** A Chromium without windows comes first: it takes half the processor time of one whose windows are not shown. */
const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/opt/google/chrome/chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

export const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 740 }, isMobile: true, hasTouch: true }

/** A page in a window of its own; the faults that it reported are for the test to look at. */
export interface OpenPage {
  readonly page: Page
  /** Breaches of the page's content security policy, and errors that nothing caught. */
  readonly faults: readonly string[]
  /** The addresses that the page asked for. */
  readonly requests: readonly string[]
}

export type OpenWindow = (options?: BrowserContextOptions) => Promise<OpenPage>

/** Describes tests with a browser. A window is open until the test ends. */
export function describeInBrowser(name: string, tests: (openWindow: OpenWindow) => void): void {
  const { VOUCHSAFE_TEST_BROWSER: wish = 'required' } = process.env
  const executablePath = wish === 'required' ? PLACES.find((path) => existsSync(path)) : wish
  if (executablePath === undefined) {
    it(`${name}: left out, since no Chromium or Chrome is on this machine`, () => {
      process.stderr.write(
        `NO BROWSER, NO TESTS OF PAGES (${name}): install one, such as by apt-get install chromium\n`,
      )
      expect(process.env.VOUCHSAFE_TEST_BROWSER).not.toBe('required')
    })
    return
  }
  describe(name, () => {
    let browser: Browser
    beforeAll(async () => {
      // The superuser of a container has no sandbox.
      const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
      browser = await chromium.launch({ executablePath, args })
    })
    afterAll(() => browser.close())
    tests((options) => openWindow(browser, options))
  })
}

async function openWindow(browser: Browser, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, ...options })
  // A wait ends what hangs, however slow the machine is; the limit of the library is half a minute.
  context.setDefaultTimeout(300_000)
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const [faults, requests]: [string[], string[]] = [[], []]
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('request', (request) => requests.push(request.url()))
  return { page, faults, requests }
}

const PICTURES = join(ROOT, 'docs/pictures')

/** Writes a picture of the documents, when VOUCHSAFE_TEST_PICTURES is `write`. */
export function keepPicture(name: string, bytes: Uint8Array): void {
  if (process.env.VOUCHSAFE_TEST_PICTURES !== 'write') return
  mkdirSync(PICTURES, { recursive: true })
  writeFileSync(join(PICTURES, `${name}.png`), bytes)
}

const textOf = (path: string): string => readFileSync(createRequire(import.meta.url).resolve(path), 'utf8')

/** Reads the QR code that is to be seen on the page; undefined where there is none. */
export async function readCode(page: Page): Promise<string | undefined> {
  const png = (await page.screenshot()).toString('base64')
  const reader = await page.context().newPage()
  try {
    // The reader is a script for pages, and a page decodes the picture.
    await reader.evaluate(textOf('jsqr'))
    return await reader.evaluate(async (base64) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
      const picture = await createImageBitmap(new Blob([bytes]))
      const canvas = new OffscreenCanvas(picture.width, picture.height).getContext('2d')
      canvas?.drawImage(picture, 0, 0)
      const pixels = canvas?.getImageData(0, 0, picture.width, picture.height)
      const { jsQR } = globalThis as unknown as {
        jsQR: (data: unknown, width: number, height: number) => { data: string } | null
      }
      return jsQR(pixels?.data, picture.width, picture.height)?.data
    }, png)
  } finally {
    await reader.close()
  }
}

/**
 * Returns the faults of a page for any person: those that axe finds, those that the page reported, and whether it is
 * wider than its window.
 */
export async function faultsForSomebody({ page, faults }: OpenPage): Promise<readonly string[]> {
  const { width = 0 } = page.viewportSize() ?? {}
  const drawn = await page.evaluate(() => document.documentElement.scrollWidth)
  return [...(await accessibilityFaults(page)), ...faults, ...(drawn > width ? [`${drawn} of ${width} pixels`] : [])]
}

/** The rules of axe that look at colours; nothing else of our pages is different in the dark. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block']

/** Returns the faults as {@link faultsForSomebody} does, and those of the same page in dark colours. */
export async function faultsInAnyColours(opened: OpenPage): Promise<readonly string[]> {
  const { page } = opened
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await faultsForSomebody(opened)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await accessibilityFaults(page, OF_COLOURS)
  return [...light, ...dark.map((fault) => `in the dark: ${fault}`)]
}

/** Returns the faults that axe finds on a page, each as its rule and the places; by all rules, or by `rules`. */
export async function accessibilityFaults(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(textOf('axe-core/axe.min.js'))
  return page.evaluate(async (runOnly) => {
    const { axe } = globalThis as unknown as { axe: { run: (options: object) => Promise<AxeResult> } }
    const { violations } = await axe.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) })
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
  }, rules)
}

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly target: string[] }[] }[]
}
