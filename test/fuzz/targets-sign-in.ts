/**
 * A right request for each page at which the issuer finds out who a person is, by a provider or by another credential.
 */
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { openLinkPage, startPresenting } from '../support/presenting.ts'
import type { Services } from '../support/services.ts'
import { type AtPage, comeToPage, leaveForProvider, SIGN_IN, startSigningIn } from '../support/sign-in.ts'
import { testWallet } from '../support/wallet.ts'
import { startIssuance } from '../support/wire.ts'
import type { FuzzRequest, Target } from './targets.ts'

/** Services with their targets, and what is sent to them. */
export interface FuzzWorld {
  readonly services: Services
  readonly targets: readonly Target[]
  readonly close: () => Promise<void>
}

const signInPath = new URL(SIGN_IN).pathname

/** Brings a browser to the page, a second after the one before: a process takes so many visits in a second. */
async function nextPage(services: Services): Promise<AtPage> {
  services.clock.now = new Date(services.clock.now.getTime() + 1000)
  return comeToPage(services)
}

function visitOf({ browser }: AtPage, address: string | URL): FuzzRequest {
  const { pathname, search } = new URL(address)
  return { service: 'issuer', method: 'GET', path: pathname + search, headers: { cookie: browser.cookie ?? '' } }
}

/** Makes the targets of the pages that both ways share. */
function pageTargets(way: string): Target[] {
  return ['', '/start', '/stop'].map((path) => ({
    name: `issuer GET ${signInPath}${path}, ${way}`,
    make: async (services) => {
      const page = await nextPage(services)
      return visitOf(page, `${SIGN_IN}${path}?interaction=${page.interaction}`)
    },
  }))
}

/** Starts an issuer that asks an OpenID Connect provider. */
export async function startSignInWorld(): Promise<FuzzWorld> {
  const { services, provider } = await startSigningIn()
  const answer: Target = {
    name: `issuer GET ${signInPath}/answer`,
    make: async () => {
      const page = await nextPage(services)
      return visitOf(page, provider.signIn(await leaveForProvider(services, page)))
    },
  }
  return { services, targets: [...pageTargets('provider'), answer], close: () => services.close() }
}

/** Starts an issuer that asks a verifier for another credential. */
export async function startPresentingWorld(): Promise<FuzzWorld> {
  const { services, close } = await startPresenting()
  const { wallet } = testWallet(services.fetch, services.clock)
  await receiveOffer(wallet, (await startIssuance(services)).link)
  const presented: Target = {
    name: `issuer GET ${signInPath}/presented`,
    make: async () => {
      const page = await nextPage(services)
      const text = await (await openLinkPage(services, page)).text()
      const link = /href="(haip-vp:[^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
      const { redirect_uri: address } = await sendPresentation(wallet, await planPresentation(wallet, link))
      return visitOf(page, address ?? '')
    },
  }
  return { services, targets: [...pageTargets('presentation'), presented], close }
}
