/** What the wallet works with: everything it does not decide itself comes in here. */

export interface WalletContext {
  readonly fetch: typeof globalThis.fetch
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly store: WalletStore
  /** As what authorization servers know this wallet, where they take no anonymous ones; nothing is said when absent. */
  readonly clientId?: string
  /** Comes back after so many seconds; a wallet without it waits for nobody. */
  readonly wait?: (seconds: number) => Promise<void>
  /** Told of each step when it has been taken, for people who watch. No token, key or claim value is ever in it. */
  readonly onStep?: (step: Step) => void
  /** For one answer; ten seconds and one megabyte when absent. */
  readonly limits?: { readonly seconds: number; readonly bytes: number }
}

export interface Step {
  /** What the wallet did, in words that follow "the wallet": `fetched the credential offer`. */
  readonly what: string
  /** Why, or what it means, in a sentence. */
  readonly means: string
  /** Where it says so. */
  readonly spec: string
  /** Absent when nothing was sent. */
  readonly request?: { readonly method: string; readonly url: string; readonly sent?: string }
  /** The HTTP status of the answer. */
  readonly status?: number
}

/** Texts by name. A write replaces the whole text or nothing, and keeps others from reading it: private keys are inside. */
export interface WalletStore {
  list(): Promise<readonly string[]>
  read(name: string): Promise<string>
  write(name: string, text: string): Promise<void>
}
