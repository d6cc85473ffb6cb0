/** The things that all parts of the page use. */
import type { Step, WalletContext } from '../../src/wallet/context.ts'
import type { Guide } from './guide.ts'
import type { PresentationMemory } from './misbehaviour.ts'
import { type BrowserStore, openBrowserStore } from './store.ts'

export interface WalletPage {
  readonly wallet: WalletContext
  readonly store: BrowserStore
  readonly guide: Guide
  readonly remembered: PresentationMemory
  /** The steps of the wallet since the last look. */
  readonly steps: Step[]
  readonly sessions: IssuanceSessions
  /** Deletes all that the wallet holds, and tells its other windows. */
  empty(): Promise<void>
  /** A signal that is aborted when the page is left. */
  readonly signal: AbortSignal
}

/** The issuance sessions of the credentials, as far as they are of the console's issuer. */
export interface IssuanceSessions {
  get(credentialId: string): string | undefined
  set(credentialId: string, sessionId: string): void
  /** Forgets all sessions. */
  clear(): void
}

const SESSIONS = 'vouchsafe-wallet-sessions'

/** Opens the wallet of the browser; `onEmptied` hears that another window has emptied it. */
export async function openWalletPage(guide: Guide, signal: AbortSignal, onEmptied: () => void): Promise<WalletPage> {
  const windows = new BroadcastChannel('vouchsafe-wallet')
  windows.onmessage = onEmptied
  signal.addEventListener('abort', () => windows.close())
  const store = await openBrowserStore()
  const steps: Step[] = []
  const wallet: WalletContext = {
    // A browser's fetch has to be called as a function of its window.
    fetch: (input, init) => fetch(input, init),
    now: () => new Date(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    store,
    wait: (seconds) => pause(seconds),
    onStep: (step) => void steps.push(step),
    languages: navigator.languages,
  }
  const sessions = createSessionMemory()
  const empty = async (): Promise<void> => {
    await store.empty()
    sessions.clear()
    windows.postMessage('emptied')
  }
  return { wallet, store, guide, remembered: new Map(), steps, sessions, empty, signal }
}

export function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}

function createSessionMemory(): IssuanceSessions {
  const readSessions = (): Record<string, string> =>
    JSON.parse(localStorage.getItem(SESSIONS) ?? '{}') as Record<string, string>
  return {
    get: (id) => readSessions()[id],
    set: (id, sessionId) => localStorage.setItem(SESSIONS, JSON.stringify({ ...readSessions(), [id]: sessionId })),
    clear: () => localStorage.removeItem(SESSIONS),
  }
}
