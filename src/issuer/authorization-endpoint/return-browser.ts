/**
 * The return of the browser from the application. Only the browser that brought the request takes the code to the
 * wallet. It must send both the secret of the decision, which the application gave it, and the cookie, which it got at
 * the start. If an attacker starts an authorization and makes another person complete it, that person has only the
 * secret, and the attacker only the cookie. RFC 9700 section 4.7, RFC 6819 section 4.4.1.8.
 */
import { refuse } from '../../protocol/error.ts'
import { responseAddress } from '../../protocol/redirect-uri.ts'
import { endRequest, giveCode, isSameBrowser, makeRequestUpdate, requireDecision } from '../authorization-request.ts'
import type { IssuerContext } from '../context.ts'
import { addressWithCode, issuerOf } from './authorize.ts'
import { refuseOtherBrowser } from './browser.ts'

/** A browser that returns from the application. */
export interface ReturningBrowser {
  readonly id: string
  /** The secret of the decision, if the browser sends one. */
  readonly completion: string | undefined
  readonly cookie: string | undefined
}

/**
 * Returns the redirect URI of the wallet with the code or with the error. Refuses with `not_found`, `gone` or
 * `invalid_request`. A right secret with another browser's cookie also ends the request, because two people are
 * involved.
 */
export function returnBrowser(context: IssuerContext, browser: ReturningBrowser): Promise<string> {
  const { id, completion, cookie } = browser
  return context.retryOnConflict<string>(async () => {
    const row = await context.store.get('authorization_request', id)
    if (row === undefined) return refuse('not_found', 'there is no such authorization; begin anew in the wallet')
    const { value: storedRequest } = row
    const now = context.now()
    const decision = requireDecision(storedRequest, completion ?? '', now)
    const isOwnBrowser = isSameBrowser(storedRequest, cookie)
    const getsCode = isOwnBrowser && decision.denied === undefined
    const nextRequest = getsCode ? giveCode(storedRequest, decision.sessionId, now) : endRequest(storedRequest)
    const conflict = await context.store.commit([makeRequestUpdate({ id, ...row }, nextRequest, now)])
    if (conflict !== undefined) return { conflict }
    if (!isOwnBrowser) refuseOtherBrowser()
    const { request } = storedRequest
    if (decision.denied === undefined) return { committed: addressWithCode(context, id, request) }
    const refusal = { error: 'access_denied', error_description: decision.denied.reason, state: request.state }
    return { committed: responseAddress(request.redirectUri, issuerOf(context, request), refusal) }
  })
}
