/** The command `vouchsafe console`, and pages of it in a browser that is signed in. */
import type { ChildProcess } from 'node:child_process'
import type { BrowserContextOptions } from 'playwright-core'
import { vi } from 'vitest'
import { startCommand } from '../support/command.ts'
import { API_KEY } from '../support/services.ts'
import type { OpenPage, OpenWindow } from './browser.ts'

/** Opens a page of the console; the first window signs in, and the others have its cookie. */
export type OpenConsolePage = (
  openWindow: OpenWindow,
  place: string,
  options?: BrowserContextOptions,
) => Promise<OpenPage>

export interface ConsoleCommand {
  readonly child: ChildProcess
  /** The link that signs in once. */
  readonly link: string
  readonly open: OpenConsolePage
}

/** Starts the console of services that take the key of the tests; `more` are further words of the command. */
export async function startConsoleCommand(
  issuerUrl: string,
  verifierUrl: string,
  more: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<ConsoleCommand> {
  const env = { VOUCHSAFE_ISSUER_API_KEY: API_KEY, VOUCHSAFE_VERIFIER_API_KEY: API_KEY, ...environment }
  const words = ['console', '--port', '0', '--issuer', issuerUrl, '--verifier', verifierUrl, ...more]
  const { child } = startCommand(words, { env })
  let output = ''
  child.stdout?.on('data', (chunk: string) => (output += chunk))
  const link = await vi.waitUntil(() => /http:\S+code=\S+/.exec(output)?.[0], { timeout: 300_000 })
  return { child, link, open: createOpenPage(link) }
}

function createOpenPage(link: string): OpenConsolePage {
  let state: BrowserContextOptions['storageState']
  let address = ''
  return async (openWindow, place, options = {}) => {
    const opened = await openWindow({ ...options, ...(state && { storageState: state }) })
    const { page } = opened
    if (state === undefined) {
      await page.goto(link)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      state = await page.context().storageState()
      address = page.url().replace(/#.*$/, '')
    }
    await page.goto(`${address}#/${place}`)
    await page.locator('h1').waitFor()
    return opened
  }
}
