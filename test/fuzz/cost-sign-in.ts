/**
 * Requests of a browser at the pages that find out who a person is, in which something has grown; also the claims that
 * it signs in with.
 */
import { openLinkPage, type Presenting, startPresenting } from '../support/presenting.ts'
import type { Services } from '../support/services.ts'
import {
  type AtPage,
  comeToPage,
  leaveForProvider,
  SIGN_IN,
  type SigningIn,
  startSigningIn,
} from '../support/sign-in.ts'
import type { CostRequest, CostTarget, CostWorld } from './cost-world.ts'
import { type Growth, grownHeader, grownValue } from './growth.ts'

/** Two more issuers: one that asks a provider, and one that asks a verifier. */
export interface SignInWorlds {
  readonly signingIn: SigningIn
  readonly presenting: Presenting
}

export async function startSignInWorlds(): Promise<SignInWorlds> {
  return { signingIn: await startSigningIn(), presenting: await startPresenting() }
}

const CLAIMS = ['given_name', 'family_name', 'email', 'extra']
/** The bytes of a request, which has no more than a head may have; the claims come from the provider. */
const BYTES = 11_000

/** Brings a browser to the page, a second after the one before: a process takes so many visits in a second. */
async function nextPage(services: Services, growths: readonly Growth[]): Promise<AtPage> {
  services.clock.now = new Date(services.clock.now.getTime() + 1000)
  const askedGrowths = growths.filter(({ place }) => place.startsWith('asked.'))
  const more = Object.fromEntries(askedGrowths.map((growth) => [growth.place.slice(6), grownHeader(growth)]))
  return comeToPage(services, { scope: 'student_card', ...more })
}

/** Makes the request to an address, whose parameters, cookie and end have grown where the growths say so. */
function visitGrown(
  service: CostRequest['service'],
  { browser }: AtPage,
  address: string | URL,
  growths: readonly Growth[],
): CostRequest {
  const url = new URL(address)
  for (const growth of growths.filter(({ place }) => place.startsWith('query.'))) {
    const name = growth.place.slice(6)
    const before = growth.isAdded ? (url.searchParams.get(name) ?? '') : ''
    url.searchParams.set(name, before + grownHeader(growth, 3000))
  }
  const end = growths.find(({ place }) => place === 'end')
  const cookie = growths.find(({ place }) => place === 'cookie')
  const path =
    url.pathname + url.search + (end === undefined ? '' : encodeURI(grownHeader(end, 3000)).replaceAll('#', ''))
  const behind = cookie === undefined ? '' : grownHeader(cookie, 6000)
  return { service, method: 'GET', path, headers: { cookie: `${browser.cookie ?? ''}${behind}` } }
}

/** Makes a target of a page that both ways have, at the issuer of one of them. */
function pageTarget(service: 'signIn' | 'presenting', path: string): CostTarget {
  return {
    name: `${service} GET ${path}`,
    bytes: BYTES,
    places: ['query.interaction', 'query.extra', 'end', 'cookie', 'asked.state', 'asked.nonce', 'asked.redirect_uri'],
    make: async (world, growths) => {
      const services = servicesOf(world, service)
      const page = await nextPage(services, growths)
      return visitGrown(service, page, `${SIGN_IN}${path}?interaction=${page.interaction}`, growths)
    },
  }
}

function servicesOf({ signIn: { signingIn, presenting } }: CostWorld, service: 'signIn' | 'presenting'): Services {
  return service === 'signIn' ? signingIn.services : presenting.services
}

/** The answer of the provider, in a browser, for a person whose claims may have grown. */
const answerTarget: CostTarget = {
  name: 'signIn GET /answer',
  bytes: 64_000,
  places: [
    ...['code', 'state', 'iss', 'error', 'error_description', 'response', 'extra'].map((name) => `query.${name}`),
    ...['end', 'cookie'],
    ...CLAIMS.map((name) => `claims.${name}`),
  ],
  make: async ({ signIn: { signingIn } }, growths) => {
    const { services, provider } = signingIn
    const claims = growths.filter(({ place }) => place.startsWith('claims.'))
    provider.wrongs = {
      idToken: Object.fromEntries(claims.map((growth) => [growth.place.slice(7), grownValue(growth)])),
    }
    const page = await nextPage(services, growths)
    const address = provider.signIn(await leaveForProvider(services, page))
    const answeredBytes = JSON.stringify(provider.wrongs.idToken).length
    return { ...visitGrown('signIn', page, address, growths), answeredBytes }
  },
}

const presentedTarget: CostTarget = {
  name: 'presenting GET /presented',
  bytes: BYTES,
  isRefused: true,
  places: ['query.interaction', 'query.response_code', 'query.extra', 'end', 'cookie'],
  make: async ({ signIn: { presenting } }, growths) => {
    const page = await nextPage(presenting.services, growths)
    await openLinkPage(presenting.services, page)
    const address = `${SIGN_IN}/presented?interaction=${page.interaction}&response_code=x`
    return visitGrown('presenting', page, address, growths)
  },
}

const PATHS = ['', '/start', '/stop']

export const signInCostTargets: readonly CostTarget[] = [
  ...PATHS.map((path) => pageTarget('signIn', path)),
  answerTarget,
  ...PATHS.map((path) => pageTarget('presenting', path)),
  presentedTarget,
]
