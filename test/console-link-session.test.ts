/** The session that the wallet of the console remembers, and may have revoked, is the one whose offer it took. */
import { describe, expect, it } from 'vitest'
import { offerSessionOf, requestSessionOf } from '../console/wallet/link-session.ts'

const ISSUER = 'https://issuer.example'
const OFFERS = `${ISSUER}/issuance/oid4vci/credential-offer`
const REQUESTS = 'https://verifier.example/presentation/oid4vp/authorization-request'
const offerLink = (uri: string): string => `haip-vci://?credential_offer_uri=${encodeURIComponent(uri)}`
const requestLink = (uri: string): string => `haip-vp://?request_uri=${encodeURIComponent(uri)}&client_id=x`

describe('the session of an offer', () => {
  it('stands in the address of the console’s own issuer', () => {
    expect(offerSessionOf(offerLink(`${OFFERS}/mine-1`), ISSUER)).toBe('mine-1')
  })

  it.each([
    ['a query', `${OFFERS}/mine?x=/victim`],
    ['a fragment', `${OFFERS}/mine#/victim`],
    ['a longer path', `${OFFERS}/mine/victim`],
    ['a path that leads up', `${OFFERS}/mine/../victim`],
    ['an escape', `${OFFERS}/victim%20`],
    ['no id', `${OFFERS}/`],
    ['another path', `${ISSUER}/x/victim`],
    ['another issuer', 'https://other.example/issuance/oid4vci/credential-offer/victim'],
    ['an issuer below the own one', 'https://issuer.example/other/issuance/oid4vci/credential-offer/victim'],
    ['an issuer whose name goes on', 'https://issuer.example.other/issuance/oid4vci/credential-offer/victim'],
  ])('is unknown with %s', (_, uri) => {
    expect(offerSessionOf(offerLink(uri), ISSUER)).toBeUndefined()
  })

  it('is unknown where the offer is in the link, and where the console has no issuer', () => {
    expect(offerSessionOf('haip-vci://?credential_offer=%7B%7D', ISSUER)).toBeUndefined()
    expect(offerSessionOf(offerLink(`${OFFERS}/mine`), undefined)).toBeUndefined()
    expect(offerSessionOf(offerLink('/issuance/oid4vci/credential-offer/victim'), undefined)).toBeUndefined()
  })
})

describe('the session of a request', () => {
  it('is the end of its address, and nothing behind that', () => {
    expect(requestSessionOf(requestLink(`${REQUESTS}/mine-1`))).toBe('mine-1')
    for (const rest of ['mine?x=/victim', 'mine#/victim', 'mine/victim', '']) {
      expect(requestSessionOf(requestLink(`${REQUESTS}/${rest}`))).toBeUndefined()
    }
    expect(requestSessionOf(requestLink('https://verifier.example/x?y=/victim'))).toBeUndefined()
  })
})
