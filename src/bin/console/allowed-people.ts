/** The people who may sign in to a console with an OpenID Connect provider, by the values of claims. */
import { type Json, type JsonObject, memberOf, stringsIn } from '../../codec/json.ts'
import { issuerProblem } from '../../config/address.ts'

/** A claim and a value that it must have; if the claim is an array, it must contain the value. */
export interface AllowedClaim {
  readonly claim: string
  readonly value: string
}

/** The client of the console at the provider, and the people who may sign in. */
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

/** Tests whether the claims have one of the allowed values. An email address must be verified by the provider. */
export function mayPersonEnter(claims: JsonObject, allowed: readonly AllowedClaim[]): boolean {
  return allowed.some(({ claim, value }) => {
    const actual = memberOf(claims, claim)
    if (claim !== 'email') return actual === value || stringsIn(actual).includes(value)
    return memberOf(claims, 'email_verified') === true && isSameEmail(actual, value)
  })
}

/** Returns the names of the claims that {@link mayPersonEnter} uses. */
export function requiredClaims(allowed: readonly AllowedClaim[]): readonly string[] {
  return allowed.flatMap(({ claim }) => (claim === 'email' ? ['email', 'email_verified'] : [claim]))
}

/**
 * Reads the options for sign-in with a provider; undefined if there are none. Throws if they are incomplete, or if
 * everybody at the provider could sign in.
 */
export function readSignInWords(words: SignInWords, clientSecret: string | undefined): ConsoleClient | undefined {
  const { 'sign-in': issuer, 'client-id': clientId, scope = DEFAULT_SCOPE, allow = [] } = words
  if (issuer === undefined) {
    const stray = (['client-id', 'scope', 'allow'] as const).find((name) => (words[name] ?? []).length > 0)
    if (stray !== undefined) throw new Error(`--${stray}: goes with --sign-in, the issuer of your provider`)
    return undefined
  }
  const problem = issuerProblem(issuer, 'https://login.example.edu')
  if (problem !== undefined) throw new Error(`--sign-in: ${problem}`)
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

/** Compares two email addresses without regard to case. */
function isSameEmail(has: Json | undefined, value: string): boolean {
  return typeof has === 'string' && has.toLowerCase() === value.toLowerCase()
}
