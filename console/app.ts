/** The console: its pages by the part of the address after `#`, and the way between them. */
import { showAudit } from './audit.ts'
import { showCallbacks } from './callbacks.ts'
import { readServices, type Services } from './clients.ts'
import { showContract } from './contract.ts'
import { appendError, drawError, element } from './dom.ts'
import { showEngines } from './engines.ts'
import { showIssue } from './issue.ts'
import { showOverview } from './overview.ts'
import type { ShowPage } from './page.ts'
import { showSession } from './session.ts'
import { showSessions } from './sessions.ts'
import { showTrust } from './trust.ts'
import { showVerify } from './verify.ts'

interface Page {
  readonly title: string
  readonly show: ShowPage
  /** The page of the menu that leads to this one, which itself is not in the menu. */
  readonly below?: string
}

const PAGES: Readonly<Record<string, Page>> = {
  overview: { title: 'Overview', show: showOverview },
  issue: { title: 'Issue', show: showIssue },
  verify: { title: 'Verify', show: showVerify },
  sessions: { title: 'Sessions', show: showSessions },
  callbacks: { title: 'Callbacks', show: showCallbacks },
  trust: { title: 'Trust anchors', show: showTrust },
  audit: { title: 'Audit log', show: showAudit },
  engines: { title: 'Engines', show: showEngines },
  wallet: { title: 'Wallet', show: showWallet },
  contract: { title: 'Contract', show: showContract, below: 'engines' },
  session: { title: 'Session', show: showSession, below: 'sessions' },
}

/** Loads the script of the wallet, which is larger than all others, when its page is opened. */
async function showWallet(...place: Parameters<ShowPage>): Promise<void> {
  const path: string = './wallet.js'
  const walletModule = (await import(path)) as { readonly showWallet: ShowPage }
  await walletModule.showWallet(...place)
}

/** Aborted when another page is shown. */
let shownPageEnd = new AbortController()

async function show(services: Services): Promise<void> {
  const main = document.querySelector('main')
  if (main === null) return
  shownPageEnd.abort()
  shownPageEnd = new AbortController()
  const { signal } = shownPageEnd
  const [name = '', ...parts] = location.hash.replace(/^#\/?/, '').split('/').map(decodePart)
  const page = PAGES[Object.hasOwn(PAGES, name) ? name : 'overview']
  if (page === undefined) return
  document.title = `${page.title} · Vouchsafe console`
  drawMenu(page, () => void show(services))
  // Each page has a root of its own, so that one that is late writes nowhere.
  const root = element('div')
  main.replaceChildren(root)
  try {
    await page.show(root, { services, parts, signal })
  } catch (error) {
    appendError(root, error, signal)
  }
}

/** Returns a part of the address without its escapes, or as it is where these are wrong: a person may type one. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    return part
  }
}

function drawMenu(shownPage: Page, showAgain: () => void): void {
  // The link to the open page changes no address, and begins the page anew all the same.
  const onclick = ({ currentTarget }: Event): void => {
    if (currentTarget instanceof HTMLAnchorElement && currentTarget.hash === location.hash) showAgain()
  }
  const links = Object.entries(PAGES)
    .filter(([, { below }]) => below === undefined)
    .map(([name, page]) => {
      const current = page === shownPage ? 'page' : name === shownPage.below ? 'true' : undefined
      return element('a', { href: `#/${name}`, 'aria-current': current, onclick }, page.title)
    })
  document.querySelector('nav')?.replaceChildren(...links)
}

readServices().then(
  (services) => {
    addEventListener('hashchange', () => {
      document.querySelector('main')?.focus()
      void show(services)
    })
    void show(services)
  },
  (error: unknown) => {
    document.querySelector('main')?.replaceChildren(drawError(error))
  },
)
