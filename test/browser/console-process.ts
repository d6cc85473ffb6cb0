/** A console with an issuer and a verifier, each a process of its own, and pages of it that are signed in. */
import type { ChildProcess } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { type ConsoleCommand, startConsoleCommand } from './console-page.ts'

export interface RunningConsole extends Pick<ConsoleCommand, 'link' | 'open'> {
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
  const { child, link, open } = await startConsoleCommand(issuer.url, verifier.url)
  running.push(child)
  return {
    link,
    open,
    stop() {
      for (const each of running) each.kill('SIGKILL')
    },
  }
}

/** Makes the directory of a service whose wallets reach it at its own port. */
async function directoryOf(name: 'issuer' | 'verifier', settings: object = {}): Promise<string> {
  const port = await freePort()
  return serviceDirectory(name, { port, baseUrl: `http://127.0.0.1:${port}`, ...settings })
}
