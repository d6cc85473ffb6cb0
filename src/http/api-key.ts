/** API keys: `integrations.authentication` maps each key (a secret) to a label (not one). */
import { toBase64url } from '../codec/base64url.ts'
import { digestOf } from '../codec/digest.ts'
import { refuse } from '../protocol/error.ts'

/** The label of the key in an `Authorization: Bearer` header. Refuses anything else with `unauthorized`. */
export type Authenticate = (authorization: string | undefined) => string

const BEARER = /^Bearer +(\S+)$/i

/** Names the API key of a request that was let in, where its label would not do: two keys may have one label. */
export function apiKeyDigest(authorization: string | undefined): string {
  return digestOf(BEARER.exec(authorization ?? '')?.[1] ?? '')
}

/**
 * Keys are looked up by a digest together with a secret of this process, so that the time of the look-up says nothing about how much
 * of a guess was right.
 */
export function authenticator(
  labelByKey: Readonly<Record<string, string>>,
  random: (bytes: number) => Uint8Array,
): Authenticate {
  const secret = toBase64url(random(32))
  const digest = (key: string): string => digestOf(secret + key)
  const labels = new Map(Object.entries(labelByKey).map(([key, label]) => [digest(key), label]))
  return (authorization) => {
    const [, key] = BEARER.exec(authorization ?? '') ?? []
    const label = key === undefined ? undefined : labels.get(digest(key))
    return (
      label ?? refuse('unauthorized', 'send an API key of integrations.authentication as Authorization: Bearer <key>')
    )
  }
}
