/** A console with an issuer and a verifier, each a process of its own, and pages of it that are signed in. */
import type { ChildProcess } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { BrowserContextOptions } from 'playwright-core'
import { vi } from 'vitest'
import { startCommand } from '../support/command.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import type { OpenPage, OpenWindow } from './browser.ts'

export interface RunningConsole {
  /** Opens a page of the console; the first window signs in, and the others have its cookie. */
  open(openWindow: OpenWindow, place: string, options?: BrowserContextOptions): Promise<OpenPage>
  stop(): void
}

/** Starts all three; each service has these settings beside the usual ones. */
export async function startConsole(settings: {
  readonly issuer?: object
  readonly verifier?: object
}): Promise<RunningConsole> {
  const running: ChildProcess[] = []
  const directories = {
    issuer: await directoryOf('issuer', settings.issuer),
    verifier: await directoryOf('verifier', settings.verifier),
  }
  copyFileSync(join(directories.issuer, 'issuer.pem'), join(directories.verifier, 'anchors', 'issuer.pem'))
  const issuer = await start('issuer', directories.issuer)
  running.push(issuer.child)
  const verifier = await start('verifier', directories.verifier)
  running.push(verifier.child)
  const env = { VOUCHSAFE_ISSUER_API_KEY: API_KEY, VOUCHSAFE_VERIFIER_API_KEY: API_KEY }
  const words = ['console', '--port', '0', '--issuer', issuer.url, '--verifier', verifier.url]
  const { child } = startCommand(words, { env })
  running.push(child)
  let output = ''
  child.stdout?.on('data', (chunk: string) => (output += chunk))
  const link = await vi.waitUntil(() => /http:\S+code=\S+/.exec(output)?.[0], { timeout: 60_000 })
  let state: BrowserContextOptions['storageState']
  let address = ''
  return {
    async open(openWindow, place, options = {}) {
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
    },
    stop() {
      for (const each of running) each.kill('SIGKILL')
    },
  }
}

/** The directory of a service whose wallets reach it at its own port. */
async function directoryOf(name: 'issuer' | 'verifier', settings: object = {}): Promise<string> {
  const port = await freePort()
  return serviceDirectory(name, { port, baseUrl: `http://127.0.0.1:${port}`, ...settings })
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
