/** A browser that signs in at a provider for a wallet, step by step, for tests that change one thing. */
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import {
  AUTHORIZE,
  authorizeUrl,
  type Browser,
  CLIENT_ID,
  type CodeWallet,
  declareWithScope,
  type Form,
  newVisitor,
  push,
  SCOPE,
  sentTo,
  startCodeFlow,
  visit,
  walletAsking,
} from './code-flow.ts'
import { PROVIDER, PROVIDER_CLIENT, type TestProvider, testProvider } from './openid-provider.ts'
import { ISSUER_URL, type Services } from './services.ts'

export const SIGN_IN = `${ISSUER_URL}/auth/sign-in`
export const ACCOUNT = { given_name: 'Ada', family_name: 'Lovelace', email: 'ada@example.edu', email_verified: true }
export const openidConnect = {
  issuer: PROVIDER,
  ...PROVIDER_CLIENT,
  datasets: {
    [SCOPE]: {
      claims: { credentialSubject: { given_name: 'given_name', family_name: 'family_name', email: 'email' } },
      constants: { credentialSubject: { university: 'Example University' } },
    },
  },
}

export interface SigningIn {
  readonly services: Services
  readonly provider: TestProvider
  readonly configurationId: string
}

/** Starts services whose issuer signs people in at a provider of the tests. */
export async function startSigningIn(
  settings: object = {},
  more: object = {},
  issuer: Record<string, unknown> = {},
): Promise<SigningIn> {
  const provider = await testProvider()
  provider.account = { ...ACCOUNT }
  const authentication = { openidConnect: { ...openidConnect, ...settings }, ...more }
  const services = await startCodeFlow({ authentication, ...issuer }, { outbound: provider.outbound })
  return { services, provider, configurationId: await declareWithScope(services) }
}

/** Starts such services for all tests of a block, each of which begins with a provider that answers rightly. */
export function signingInOfBlock(): SigningIn {
  const all = {} as SigningIn
  beforeAll(async () => {
    Object.assign(all, await startSigningIn())
  })
  afterAll(() => all.services.close())
  beforeEach(() => {
    all.provider.wrongs = {}
    all.provider.account = { ...ACCOUNT }
  })
  return all
}

/** A person at the page of the issuer, whose wallet asked. */
export interface AtPage {
  readonly wallet: CodeWallet
  readonly browser: Browser
  readonly interaction: string
}

export async function comeToPage(
  services: Services,
  form: Form = { scope: SCOPE },
  browser = newVisitor(),
): Promise<AtPage> {
  const wallet = walletAsking(form)
  const requestUri = await push(services, wallet.form)
  const address = authorizeUrl({ client_id: CLIENT_ID, request_uri: requestUri }, AUTHORIZE)
  const page = await sentTo(await visit(services, browser, address))
  expect(page.href.startsWith(`${SIGN_IN}?interaction=`)).toBe(true)
  return { wallet, browser, interaction: page.searchParams.get('interaction') ?? '' }
}

/** Returns the address at the provider that the page leads to. */
export async function leaveForProvider(services: Services, { browser, interaction }: AtPage): Promise<URL> {
  return sentTo(await visit(services, browser, `${SIGN_IN}/start?interaction=${interaction}`))
}

/** Returns the answer to the browser that comes back from the provider. */
export async function comeBack({ services, provider }: SigningIn, page: AtPage, more: Form = {}): Promise<Response> {
  const address = provider.signIn(await leaveForProvider(services, page), more)
  return visit(services, page.browser, address.href)
}

/** Returns the parameters that the wallet is sent after a person who stopped followed the link of the page. */
export async function wayByPage({ services }: Pick<SigningIn, 'services'>, { browser }: AtPage, page: Response) {
  const text = await page.text()
  expect([page.status, text]).toEqual([200, expect.stringContaining('You did not continue') as string])
  const link = /class="button" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  return Object.fromEntries((await sentTo(await visit(services, browser, link))).searchParams)
}

/** Returns the parameters that the wallet is sent in the end. */
export async function wayToWallet(services: Services, browser: Browser, response: Response): Promise<Form> {
  const back = await sentTo(response)
  expect(back.href.startsWith(`${ISSUER_URL}/auth/return/`)).toBe(true)
  const wallet = await sentTo(await visit(services, browser, back.href))
  return Object.fromEntries(wallet.searchParams)
}
