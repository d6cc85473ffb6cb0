/**
 * The setting `sessionCallback`: the receiver of session events, and the credentials of callbacks. Standard Webhooks.
 */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { fromBase64 } from '../codec/base64url.ts'
import { MalformedError } from '../codec/malformed.ts'
import { ownAddressProblem } from './address.ts'

export const SessionCallbackSetting = Type.Object(
  {
    url: Type.String({ description: 'Address that events of sessions are posted to' }),
    apiKey: Type.Optional(Type.String({ description: 'Sent with them as `Authorization: Bearer …`' })),
    secret: Type.Optional(
      Type.String({
        description:
          'Signs them by the Standard Webhooks scheme: base64 of at least 24 bytes, `whsec_` before it or not',
      }),
    ),
  },
  { additionalProperties: false },
)
type SessionCallbackSetting = Static<typeof SessionCallbackSetting>

export interface SessionCallback {
  readonly url: string
  readonly apiKey?: string
  readonly secret?: Uint8Array
}

const PREFIX = 'whsec_'
const LEAST_SECRET_BYTES = 24

/** Returns the mistakes in the setting. */
export function findSessionCallbackMistakes({ url, apiKey, secret }: SessionCallbackSetting): string[] {
  const addressProblem = ownAddressProblem(url, 'https://app.example/events', 'apiKey')
  const secretProblem = secret === undefined ? undefined : problemOfSecret(secret)
  return [
    ...(addressProblem === undefined ? [] : [`sessionCallback.url: ${addressProblem}`]),
    ...(apiKey === undefined || /^[!-~]+$/.test(apiKey)
      ? []
      : ['sessionCallback.apiKey: it cannot be sent in a header; use printable ASCII without spaces']),
    ...(secretProblem === undefined ? [] : [`sessionCallback.secret: ${secretProblem}`]),
  ]
}

/** Returns a warning if callbacks are not authenticated. */
export function findSessionCallbackWarnings({ apiKey, secret }: SessionCallback): string[] {
  if (apiKey !== undefined || secret !== undefined) return []
  return ['sessionCallback: neither apiKey nor secret is given; whoever knows the address can send events of their own']
}

/** Converts a valid setting. */
export function resolveSessionCallback({ url, apiKey, secret }: SessionCallbackSetting): SessionCallback {
  return {
    url,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(secret === undefined ? {} : { secret: secretBytes(secret) }),
  }
}

function problemOfSecret(secret: string): string | undefined {
  try {
    const { length } = secretBytes(secret)
    return length < LEAST_SECRET_BYTES
      ? `it has ${length} bytes, and ${LEAST_SECRET_BYTES} are the least; make one with: openssl rand -base64 32`
      : undefined
  } catch (error) {
    if (error instanceof MalformedError) return 'it is not base64; make one with: openssl rand -base64 32'
    throw error
  }
}

function secretBytes(secret: string): Uint8Array {
  return fromBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret)
}
