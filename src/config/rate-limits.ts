/** The setting `rateLimits`: optional limits by client address, and the proxies whose X-Forwarded-For is trusted. */
import { isIPv4, isIPv6 } from 'node:net'
import type { Static } from 'typebox'
import * as Type from 'typebox'

const perMinute = (what: string) => Type.Integer({ minimum: 1, maximum: 1_000_000, description: `${what}, a minute` })

export const RateLimitSettings = Type.Object(
  {
    walletRequestsPerMinute: Type.Optional(perMinute('Requests to wallet-facing endpoints from one address')),
    failedApiKeysPerMinute: Type.Optional(perMinute('Unknown API keys from one address')),
    trustedProxies: Type.Optional(
      Type.Array(Type.String({ description: 'An address, or a network (10.0.0.0/8)' }), {
        minItems: 1,
        maxItems: 100,
        description: 'Who is believed about addresses, in X-Forwarded-For',
      }),
    ),
  },
  { additionalProperties: false, description: 'Limits of each process; what is absent is not limited' },
)
export type RateLimitSettings = Static<typeof RateLimitSettings>

/** Returns the mistakes in the list of trusted proxies at `path`. */
export function findProxyMistakes(path: string, proxies: readonly string[] = []): string[] {
  return proxies.flatMap((proxy, index) =>
    isNetwork(proxy) ? [] : [`${path}[${index}]: it must be an IP address, or a network such as 10.0.0.0/8`],
  )
}

function isNetwork(text: string): boolean {
  const [, address = '', , length] = /^([^/]*)(\/(\d{1,3}))?$/.exec(text) ?? []
  if (!isIPv4(address) && !isIPv6(address)) return false
  return length === undefined || Number(length) <= (isIPv4(address) ? 32 : 128)
}
