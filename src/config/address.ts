/** The setting `baseUrl`: its form, and a warning about plain http. */
import { isSecureTransport } from '../protocol/private-host.ts'

export function findAddressMistakes(baseUrl: string): string[] {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (url === null) return ['baseUrl: it is not a URL; write it like https://issuer.example']
  const mistakes: string[] = []
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    mistakes.push('baseUrl: it must begin with https:// or http://')
  if (url.username !== '' || url.password !== '') mistakes.push('baseUrl: it must not contain a user or password')
  if (mistakes.length === 0 && baseUrl !== url.origin) {
    mistakes.push(`baseUrl: it must have no path, query or trailing slash, and no default port; write ${url.origin}`)
  }
  return mistakes
}

export function findAddressWarnings(baseUrl: string): string[] {
  if (isSecureTransport(new URL(baseUrl))) return []
  return ['baseUrl: http without TLS on a public host; wallets refuse it, and credentials can be read on the way']
}
