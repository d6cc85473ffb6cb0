/** A person's browser and the page of the application, as the reference wallet sends somebody there. */
import type { WalletContext } from '../../src/wallet/context.ts'
import { newVisitor, REDIRECT_URI, sendDecision, sentTo, visit } from './code-flow.ts'
import type { Services } from './services.ts'

export interface VisitorTerms {
  /** The decision of the application; the dataset when absent. */
  readonly decision?: object
  /** Makes one thing wrong in what comes back. */
  readonly change?: (response: URLSearchParams) => void
}

/** Takes the browser of a wallet to the page and back, and counts. */
export function visitor(services: Services, { decision, change }: VisitorTerms = {}) {
  const went: string[] = []
  const ends: string[] = []
  const sessions: string[] = []
  const openBrowser: WalletContext['openBrowser'] = () =>
    Promise.resolve({
      redirectUri: REDIRECT_URI,
      sendPerson: async (address) => {
        went.push(address)
        const person = newVisitor()
        const page = await sentTo(await visit(services, person, address))
        const { address: back, sessionId } = await sendDecision(
          services,
          page.searchParams.get('interaction') ?? '',
          decision,
        )
        sessions.push(sessionId)
        const { searchParams } = await sentTo(await visit(services, person, back))
        change?.(searchParams)
        return searchParams.toString()
      },
      close: () => Promise.resolve(void ends.push(REDIRECT_URI)),
    })
  return { browser: openBrowser, went: () => went, ended: () => ends.length, sessions: () => sessions }
}
