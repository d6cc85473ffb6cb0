/**
 * Sign-in to the console with an OpenID Connect provider, for the people that the operator allows. A cookie binds each
 * sign-in to the browser in which it started.
 */
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf, isSameSecret } from '../../codec/digest.ts'
import type { JsonObject } from '../../codec/json.ts'
import { cookieValues } from '../../http/cookies.ts'
import type { Outbound } from '../../http/outbound.ts'
import { createOpenidProvider, type OpenidProvider, type SignInAttempt } from '../../openid-connect/provider.ts'
import { ProtocolError } from '../../protocol/error.ts'
import { type ConsoleClient, mayPersonEnter, requiredClaims } from './allowed-people.ts'
import { type ConsoleAnswer, type ConsoleRefusal, redirectAnswer } from './answer.ts'

export interface ProviderSignInOptions {
  readonly client: ConsoleClient
  readonly outbound: Outbound
  readonly random: (bytes: number) => Uint8Array
  readonly now: () => Date
  /** Tells the operator in the terminal why a sign-in failed. */
  readonly report: (line: string) => void
}

/** The parts of a request that the sign-in uses. */
export interface SignInRequest {
  readonly url: string
  readonly host: string
  /** The port of the console. */
  readonly port: number
  readonly cookies: string | undefined
}

export interface ProviderSignIn {
  /** Redirects a browser to the provider. */
  beginSignIn(request: SignInRequest): Promise<ConsoleAnswer | ConsoleRefusal>
  /** Handles the authorization response. Returns `allowed` if the person may enter. */
  finishSignIn(request: SignInRequest): Promise<'allowed' | ConsoleRefusal>
}

interface PendingSignIn extends SignInAttempt {
  /** The digest of the cookie of the browser in which the sign-in started. */
  readonly cookieDigest: string
  /** When the attempt expires, in milliseconds since the epoch. */
  readonly expiresAt: number
}

export const START_PATH = '/sign-in/start'
export const ANSWER_PATH = '/sign-in/answer'
const COOKIE = 'vouchsafe_console_sign_in'
const PENDING_SECONDS = 600
/** The maximum number of pending attempts. A new one replaces the oldest. */
const MAX_PENDING = 1000
const UNKNOWN_ATTEMPT = {
  status: 400,
  title: 'Please begin again',
  message: 'This sign-in did not begin in this browser, or began more than ten minutes ago.',
  signIn: START_PATH,
}
const PERSON_REFUSED = {
  status: 403,
  title: 'This account may not enter',
  message: 'You are signed in at the provider, but the console was started for other people (--allow).',
}

/** Creates the sign-in of a console. The provider's metadata is fetched with the first attempt. */
export function createProviderSignIn(options: ProviderSignInOptions): ProviderSignIn {
  const { client, random, now, report } = options
  const pending = new Map<string, PendingSignIn>()
  let current: { readonly port: number; readonly provider: OpenidProvider } | undefined
  const providerAt = (port: number): OpenidProvider => {
    if (current?.port !== port) current = { port, provider: providerFor(options, port) }
    return current.provider
  }
  return {
    beginSignIn: async ({ host, port, cookies }) => {
      // The redirect URI has this host name, and a cookie is for one host, so the sign-in must start there.
      if (host !== originOf(port).slice('http://'.length)) return redirectAnswer(originOf(port) + START_PATH)
      const randomText = (): string => toBase64url(random(32))
      const attempt = { state: randomText(), nonce: randomText(), verifier: randomText() }
      const address = await resultOrRefusal(report, () => providerAt(port).makeAuthorizationUrl(attempt))
      if (typeof address !== 'string') return address
      // The windows of a browser share a cookie, so that one does not end what another began; `state` tells them apart.
      const cookieValue = findPendingCookie(pending, cookies, now()) ?? randomText()
      dropOldest(pending)
      const expiresAt = now().getTime() + PENDING_SECONDS * 1000
      pending.set(attempt.state, { ...attempt, cookieDigest: digestOf(cookieValue), expiresAt })
      const cookie = `${COOKIE}=${cookieValue}; Path=/sign-in/; Max-Age=${PENDING_SECONDS}; HttpOnly; SameSite=Lax`
      return redirectAnswer(address, cookie)
    },
    finishSignIn: async ({ url, port, cookies }) => {
      const parameters = new URL(url, originOf(port)).searchParams
      const state = parameters.get('state') ?? ''
      const attempt = pending.get(state)
      if (attempt === undefined) return UNKNOWN_ATTEMPT
      pending.delete(state)
      if (now().getTime() >= attempt.expiresAt || !hasCookieOf(attempt, cookies)) return UNKNOWN_ATTEMPT
      const result = await resultOrRefusal(report, () =>
        providerAt(port).readAuthorizationResponse(parameters, attempt),
      )
      if ('message' in result) return result
      if ('refused' in result) return { ...UNKNOWN_ATTEMPT, message: 'The provider signed nobody in.' }
      return decideEntry(client, result.claims, report)
    },
  }
}

function decideEntry(
  { allowedClaims }: ConsoleClient,
  claims: JsonObject,
  report: (line: string) => void,
): 'allowed' | ConsoleRefusal {
  if (mayPersonEnter(claims, allowedClaims)) return 'allowed'
  report('Somebody signed in at the provider whom no --allow names, and was not let in.')
  return PERSON_REFUSED
}

function providerFor({ client, outbound, now }: ProviderSignInOptions, port: number): OpenidProvider {
  const { allowedClaims, ...rest } = client
  const claims = requiredClaims(allowedClaims)
  return createOpenidProvider({ ...rest, claims, redirectUri: originOf(port) + ANSWER_PATH }, { outbound, now })
}

/** Returns the result, or a refusal for the person after reporting the reason to the operator. */
async function resultOrRefusal<T>(report: (line: string) => void, work: () => Promise<T>): Promise<T | ConsoleRefusal> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    const why = error.cause instanceof Error ? `: ${error.cause.message}` : ''
    report(`Signing in failed, since ${error.message}${why}.`)
    const isDown = error.code === 'temporarily_unavailable'
    return {
      status: isDown ? 503 : 400,
      title: 'Signing in did not work',
      message: isDown
        ? 'The provider cannot be asked now. Try again in a moment; the terminal of the console says more.'
        : 'The answer of the provider cannot be accepted. The terminal of the console says why.',
      signIn: START_PATH,
    }
  }
}

function hasCookieOf({ cookieDigest }: PendingSignIn, cookies: string | undefined): boolean {
  return cookieValues(cookies, COOKIE).some((value) => isSameSecret(digestOf(value), cookieDigest))
}

/** Finds the cookie of a browser in which a sign-in is pending. */
function findPendingCookie(
  pending: ReadonlyMap<string, PendingSignIn>,
  cookies: string | undefined,
  at: Date,
): string | undefined {
  const attempts = [...pending.values()].filter(({ expiresAt }) => at.getTime() < expiresAt)
  const digests = new Set(attempts.map(({ cookieDigest }) => cookieDigest))
  // Digests are not secret, so the comparison need not take constant time.
  return cookieValues(cookies, COOKIE).find((value) => digests.has(digestOf(value)))
}

function dropOldest(pending: Map<string, PendingSignIn>): void {
  const [oldest] = pending.keys()
  if (pending.size >= MAX_PENDING && oldest !== undefined) pending.delete(oldest)
}

function originOf(port: number): string {
  return `http://127.0.0.1:${port}`
}
