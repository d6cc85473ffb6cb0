/** The end of the demo: links for wallets, commands, and the console with its wallet. */
import { CONSOLE_PORT, openConsole } from '../console/console.ts'
import type { ConsoleEngine, ConsoleServices } from '../console/endpoints.ts'
import { findFreePort } from '../network/network.ts'
import { credentialServices } from '../service/credential-services.ts'
import { browserCommand, openBrowser } from '../terminal/open-browser.ts'
import { hangingIndent, paint } from '../terminal/terminal.ts'
import { curlText, linksText, startLinks } from './links.ts'
import type { Cast, DeclaredIds } from './walk.ts'
import { reportWalletUse } from './watch.ts'

const CONSOLE_OFFSET = CONSOLE_PORT - credentialServices.issuer.defaults.port

interface StayOptions {
  readonly isTemporary: boolean
  readonly portBase: number
  /** The engines that are still running. */
  readonly engines: readonly ConsoleEngine[]
  /** Whether to open the console in a browser. */
  readonly mayOpen: boolean
}

/** Shows how to continue, and reports what wallets do with the links. The running services keep the process alive. */
export async function showLinks(cast: Cast, declaredIds: DeclaredIds, options: StayOptions): Promise<void> {
  const { write } = cast
  const links = await startLinks(cast, declaredIds)
  const openedConsole = await openConsole(
    { ...servicesOf(cast), engines: options.engines },
    await findFreePort(options.portBase + CONSOLE_OFFSET),
    'wallet',
  )
  write(`\n${linksText(links, declaredIds, cast)}\n${curlText(cast, declaredIds)}\n`)
  const removalText = options.isTemporary ? ', and remove their keys, databases and the wallet' : ''
  const who = options.engines.length === 0 ? 'Both services' : 'Both services and the engines'
  const running = hangingIndent('', 0, `${who} are running. Press Ctrl-C to stop them${removalText}.`)
  write(`${running.replace('Press Ctrl-C', paint('bold', 'Press Ctrl-C'))}\n`)
  write(consoleText(openedConsole.link))
  const command = options.mayOpen ? browserCommand(process) : undefined
  if (command !== undefined && (await openBrowser(command, openedConsole.link))) write('Your browser opens it.\n')
  reportWalletUse(cast, links)
}

function consoleText(link: string): string {
  const what =
    'The same walk in your browser, with a wallet in the page: issue, receive, present, break and revoke a credential in eleven clicks. The link signs in once, within ten minutes:'
  return `\n${paint('bold', 'Now in your browser')}\n\n${hangingIndent('', 0, what)}\n\n${paint('bold', link)}\n\n`
}

/** Returns the services of the demo for the console and the wallet in its page. */
function servicesOf({ issuer, verifier }: Cast): ConsoleServices {
  return {
    issuer: { url: issuer.url, apiKey: issuer.apiKey, walletOrigin: issuer.baseUrl },
    verifier: { url: verifier.url, apiKey: verifier.apiKey, walletOrigin: verifier.baseUrl },
  }
}
