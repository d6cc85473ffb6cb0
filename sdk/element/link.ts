/**
 * The kind of a request: which links the element accepts, and under which scheme they go out. OpenID4VP 1.0, OpenID4VCI
 * 1.0 and HAIP 1.0 name the schemes.
 */

export type RequestKind = 'presentation' | 'offer'

const SCHEMES: Readonly<Record<RequestKind, readonly string[]>> = {
  presentation: ['haip-vp', 'openid4vp'],
  offer: ['haip-vci', 'openid-credential-offer'],
}
const PARAMETERS: Readonly<Record<RequestKind, readonly string[]>> = {
  presentation: ['request_uri', 'request'],
  offer: ['credential_offer_uri', 'credential_offer'],
}
/** The most characters of a link: phones cannot read the code of a longer one from a screen. */
const MAX_LENGTH = 2000
/** The characters of a URI: neither quotes nor angle brackets nor spaces. RFC 3986, Characters. */
const CHARACTERS = /^[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/

/** Reads the link of a session and gives it the scheme. */
export function readWalletLink(
  link: string,
  kind: RequestKind,
  scheme: string,
): { readonly href: string } | { readonly problem: string } {
  const [, name = '', place = '', query = ''] = /^([a-z][a-z\d+.-]*):\/\/([^?#]*)\?([^#]+)$/i.exec(link) ?? []
  if (link.length > MAX_LENGTH || !CHARACTERS.test(link) || query === '') {
    return { problem: `link must be a URI of at most ${MAX_LENGTH} characters, as it came from the service` }
  }
  const isWeb = name === 'https' && isWebAddress(link)
  if (!isWeb && !SCHEMES[kind].includes(name)) {
    const other = kind === 'offer' ? 'presentation' : 'offer'
    const advice = SCHEMES[other].includes(name) ? `: set kind="${other}"` : ''
    return { problem: `link must begin with ${SCHEMES[kind].join('://, ')}:// or https://${advice}` }
  }
  const parameters = new URLSearchParams(query)
  if (!PARAMETERS[kind].some((parameter) => parameters.has(parameter))) {
    return { problem: `link has neither ${PARAMETERS[kind].join(' nor ')}` }
  }
  // Sorting puts client_id before request_uri: some wallets (Multipaz up to 0.101.0) misread the first parameter.
  const sortedQuery = query.split('&').sort().join('&')
  const href = addressOf(link, sortedQuery, { kind, scheme, place: isWeb ? '' : place })
  if (href === undefined) {
    return { problem: `scheme must be ${SCHEMES[kind].join(', ')}, or the https address of a wallet` }
  }
  return href.length > MAX_LENGTH
    ? { problem: `scheme makes link longer than ${MAX_LENGTH} characters: shorten one` }
    : { href }
}

/** Returns the address that opens the wallet of `scheme` with the link; undefined for an unknown scheme. */
function addressOf(
  link: string,
  query: string,
  { kind, scheme, place }: { readonly kind: RequestKind; readonly scheme: string; readonly place: string },
): string | undefined {
  if (scheme === '') return link
  if (SCHEMES[kind].includes(scheme)) return `${scheme}://${place}?${query}`
  return isWebAddress(scheme) ? `${scheme}${scheme.includes('?') ? '&' : '?'}${query}` : undefined
}

/** Tests for an address of https without a user or a fragment. */
function isWebAddress(text: string): boolean {
  if (!text.startsWith('https://') || !CHARACTERS.test(text) || text.includes('#') || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}
