/** API keys. `integrations.authentication` maps each key, which is secret, to its label, which is not. */
import { toBase64url } from '../codec/base64url.ts'
import { digestOf } from '../codec/digest.ts'
import { refuse } from '../protocol/error.ts'

/** Returns the label of the API key in an `Authorization: Bearer` header. Refuses with `unauthorized` anything else. */
export type Authenticate = (authorization: string | undefined) => string

const BEARER = /^Bearer +(\S+)$/i

/** Returns a digest that identifies the API key of an authenticated request. Labels are not unique. */
export function apiKeyDigest(authorization: string | undefined): string {
  return digestOf(BEARER.exec(authorization ?? '')?.[1] ?? '')
}

/**
 * Creates the function that authenticates API keys. It looks keys up by a MAC with a random secret of this process, so
 * that the duration reveals nothing about a guess.
 */
export function createAuthenticator(
  labelByKey: Readonly<Record<string, string>>,
  random: (bytes: number) => Uint8Array,
): Authenticate {
  const secret = toBase64url(random(32))
  const digest = (key: string): string => digestOf(secret + key)
  const labels = new Map(Object.entries(labelByKey).map(([key, label]) => [digest(key), label]))
  return (authorization) => {
    const [, key] = BEARER.exec(authorization ?? '') ?? []
    if (key === undefined) {
      refuse('unauthorized', 'send an API key of integrations.authentication as Authorization: Bearer <key>')
    }
    const unknown =
      'this API key is not in integrations.authentication of this service; each service has API keys of its own'
    return labels.get(digest(key)) ?? refuse('unauthorized', unknown)
  }
}
