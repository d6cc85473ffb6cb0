/** The sessions that links are about: of an offer only one of the console's own issuer, since it may be revoked. */

/** Returns the issuance session of an offer of `credentialIssuer`; undefined for all other addresses. */
export function offerSessionOf(link: string, credentialIssuer: string | undefined): string | undefined {
  const address = new URL(link).searchParams.get('credential_offer_uri')
  if (address === null || credentialIssuer === undefined) return undefined
  const start = `${credentialIssuer}/issuance/oid4vci/credential-offer/`
  return address.startsWith(start) ? sessionIdOf(address.slice(start.length)) : undefined
}

/** Returns the verification session of a request, whose address may have any origin: it is read, and never changed. */
export function requestSessionOf(link: string): string | undefined {
  const address = new URL(link).searchParams.get('request_uri') ?? ''
  const [, end = ''] = /^https?:\/\/[^?#]*\/presentation\/oid4vp\/authorization-request\/([^/]*)$/.exec(address) ?? []
  return sessionIdOf(end)
}

/** Returns the session id that `text` is; undefined if `text` has anything beside it, such as a query. */
function sessionIdOf(text: string): string | undefined {
  return /^[\w-]+$/.test(text) ? text : undefined
}
