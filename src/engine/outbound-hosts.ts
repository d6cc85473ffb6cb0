/**
 * Checks hosts against `outbound.allow`, the hosts that components may ask and be fetched from: `host`, or `host:port`.
 */

/** Returns the mistakes of the list, in words for the operator. */
export function hostMistakes(allowed: readonly string[]): string[] {
  return allowed.flatMap((each, index) => {
    const isHost = /^[^/@?#]+$/.test(each) && URL.canParse(`https://${each}`)
    return isHost ? [] : [`outbound.allow[${index}]: it must be a host such as api.example, or host:port`]
  })
}

/** Tests whether the address is a URL of one of these hosts. A host without a port allows the default port alone. */
export function isAllowed(address: string, allowed: readonly string[]): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, host, hostname, port } = new URL(address)
  const hostAndPort = port === '' ? `${hostname}:${protocol === 'https:' ? 443 : 80}` : host
  return allowed.includes(host) || allowed.includes(hostAndPort)
}
