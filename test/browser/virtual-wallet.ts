/** The wallet that Chromium plays itself: its own protocol has a command for that, setVirtualWalletBehavior. */
import type { Page } from 'playwright-core'

export type WalletBehavior =
  | { readonly action: 'respond'; readonly protocol: string; readonly response: object }
  | { readonly action: 'decline' | 'wait' }

/** Says how the wallet answers whoever asks from this page. */
export async function setVirtualWallet(page: Page, behavior: WalletBehavior): Promise<void> {
  const session = await page.context().newCDPSession(page)
  // The types of Playwright have no such command yet.
  await session.send('DigitalCredentials.setVirtualWalletBehavior' as never, behavior as never)
}
