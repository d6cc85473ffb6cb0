import { describe, expect, it } from 'vitest'
import { type RequestKind, readWalletLink } from './link.ts'

const REQUEST_URI = 'request_uri=https%3A%2F%2Fverifier.example%2Frequest%2F1'
const CLIENT_ID = 'client_id=x509_hash%3Aabc'
const REQUEST = `haip-vp://?${REQUEST_URI}&${CLIENT_ID}`
/** Multipaz up to 0.101.0 reads no request_uri that is the first parameter. */
const QUERY = `${CLIENT_ID}&${REQUEST_URI}`
const OFFER = 'haip-vci://?credential_offer_uri=https%3A%2F%2Fissuer.example%2Foffer%2F1'

describe('a link', () => {
  it.each<[string, RequestKind, string, string]>([
    [REQUEST, 'presentation', '', REQUEST],
    [REQUEST, 'presentation', 'openid4vp', `openid4vp://?${QUERY}`],
    [
      `${REQUEST}&request_uri_method=post`,
      'presentation',
      'openid4vp',
      `openid4vp://?${QUERY}&request_uri_method=post`,
    ],
    ['openid4vp://authorize?request_uri=a', 'presentation', 'haip-vp', 'haip-vp://authorize?request_uri=a'],
    [OFFER, 'offer', 'openid-credential-offer', OFFER.replace('haip-vci', 'openid-credential-offer')],
    [REQUEST, 'presentation', 'https://wallet.example/open', `https://wallet.example/open?${QUERY}`],
    [REQUEST, 'presentation', 'https://wallet.example/open?a=b', `https://wallet.example/open?a=b&${QUERY}`],
    ['https://wallet.example/?request_uri=a', 'presentation', 'openid4vp', 'openid4vp://?request_uri=a'],
    ['https://wallet.example/?request_uri=a', 'presentation', '', 'https://wallet.example/?request_uri=a'],
  ])('%s for a %s goes out under the scheme "%s" as %s', (link, kind, scheme, href) => {
    expect(readWalletLink(link, kind, scheme)).toEqual({ href })
  })

  it.each([
    ['javascript:alert(1)//?request_uri=a', /must be a URI/],
    ['javascript://%0aalert(1)?request_uri=a', /must begin with/],
    ['data://text/html?request_uri=a', /must begin with/],
    ['http://wallet.example/?request_uri=a', /must begin with/],
    ['https://user:password@wallet.example/?request_uri=a', /must begin with/],
    ['HAIP-VP://?request_uri=a', /must begin with/],
    [`${REQUEST}"><img src=x onerror=alert(1)>`, /must be a URI/],
    [`${REQUEST}#fragment`, /must be a URI/],
    [` ${REQUEST}`, /must be a URI/],
    [`${REQUEST}\n`, /must be a URI/],
    [`haip-vp://?request_uri=${'a'.repeat(2000)}`, /at most 2000 characters/],
    ['haip-vp://?client_id=a', /neither request_uri nor request$/],
    ['haip-vp://', /must be a URI/],
    [OFFER, /set kind="offer"/],
  ])('%s is refused for a presentation', (link, problem) => {
    expect(readWalletLink(link, 'presentation', '')).toEqual({ problem: expect.stringMatching(problem) as string })
  })

  it.each([
    'javascript',
    'http://wallet.example',
    'https://',
    'https://w.example/#a',
    'https://w.example/"',
    'haip-vci',
  ])('is refused under the scheme "%s"', (scheme) => {
    expect(readWalletLink(REQUEST, 'presentation', scheme)).toEqual({
      problem: expect.stringMatching(/^scheme must be haip-vp, openid4vp, or/) as string,
    })
  })
})

it('is refused where the scheme makes it longer than a phone reads', () => {
  const long = `https://wallet.example/${'p'.repeat(1500)}`
  expect(readWalletLink(`${REQUEST}&x=${'a'.repeat(1700)}`, 'presentation', long)).toEqual({
    problem: 'scheme makes link longer than 2000 characters: shorten one',
  })
  expect(readWalletLink(REQUEST, 'presentation', long)).toEqual({ href: `${long}?${QUERY}` })
})
