/** The people who may sign in to a console at a provider, by the values of their claims. */
import { type Json, type JsonObject, own, stringsIn } from '../../codec/json.ts'
import { isSecureTransport } from '../../protocol/private-host.ts'

/** A value that a claim has to have, or to have among others. */
export interface AllowedClaim {
  readonly claim: string
  readonly value: string
}

/** The client that the console is at a provider, and the people who may sign in. */
export interface ConsoleClient {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string
  readonly scope: string
  readonly allowedClaims: readonly AllowedClaim[]
}

interface SignInWords {
  readonly 'sign-in'?: string | undefined
  readonly 'client-id'?: string | undefined
  readonly scope?: string | undefined
  readonly allow?: readonly string[] | undefined
}

const DEFAULT_SCOPE = 'openid email'

/**
 * Tests whether the claims have one of the allowed values. An e-mail address counts only when the provider has verified
 * it: otherwise anybody may write any.
 */
export function mayPersonEnter(claims: JsonObject, allowed: readonly AllowedClaim[]): boolean {
  return allowed.some(({ claim, value }) => {
    const actual = own(claims, claim)
    if (claim !== 'email') return actual === value || stringsIn(actual).includes(value)
    return own(claims, 'email_verified') === true && isSameEmail(actual, value)
  })
}

/** Lists the claims that {@link mayPersonEnter} looks at. */
export function requiredClaims(allowed: readonly AllowedClaim[]): readonly string[] {
  return allowed.flatMap(({ claim }) => (claim === 'email' ? ['email', 'email_verified'] : [claim]))
}

/**
 * Reads the words about signing in at a provider; undefined where there are none. Throws an error that says what is
 * wrong: nobody starts a console which lets everybody in whom a provider knows.
 */
export function readSignInWords(words: SignInWords, clientSecret: string | undefined): ConsoleClient | undefined {
  const { 'sign-in': issuer, 'client-id': clientId, scope = DEFAULT_SCOPE, allow = [] } = words
  if (issuer === undefined) {
    const stray = (['client-id', 'scope', 'allow'] as const).find((name) => (words[name] ?? []).length > 0)
    if (stray !== undefined) throw new Error(`--${stray}: goes with --sign-in, the issuer of your provider`)
    return undefined
  }
  if (!URL.canParse(issuer) || /[?#]/.test(issuer) || !isSecureTransport(new URL(issuer))) {
    throw new Error(`--sign-in: ${issuer} is not an issuer of a provider; write one as in https://login.example.edu`)
  }
  if (!clientId) throw new Error('--client-id: say which client the console is at the provider')
  if (!scope.split(' ').includes('openid')) throw new Error('--scope: openid must be one of its values')
  if (allow.length === 0) {
    throw new Error('--allow: say who may sign in, as in --allow email=ada@example.edu or --allow groups=operators')
  }
  return { issuer, clientId, scope, allowedClaims: allow.map(parseAllowedClaim), ...(clientSecret && { clientSecret }) }
}

function parseAllowedClaim(text: string): AllowedClaim {
  const [, claim = '', value = ''] = /^([^=]+)=(.+)$/.exec(text) ?? []
  if (claim === '') throw new Error(`--allow: ${text} is not a CLAIM=VALUE; write one as in email=ada@example.edu`)
  return { claim, value }
}

/**
 * Tests whether two addresses are the same in any case, since providers may write them in other letters than people do.
 */
function isSameEmail(has: Json | undefined, value: string): boolean {
  return typeof has === 'string' && has.toLowerCase() === value.toLowerCase()
}
