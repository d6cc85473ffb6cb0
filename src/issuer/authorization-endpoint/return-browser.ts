/**
 * The return from the application: the browser that brought the request, and no other, takes the code to the wallet.
 * The browser that the application has seen has the secret of the decision, and the browser that began has the cookie.
 * A person who was lured into the authorization of an attacker has the secret alone, and the attacker has the cookie
 * alone. RFC 9700 section 4.7, RFC 6819 section 4.4.1.8.
 */
import { refuse } from '../../protocol/error.ts'
import { responseAddress } from '../../protocol/redirect-uri.ts'
import type { Row } from '../../store/store.ts'
import {
  endOfRequest,
  endRequest,
  giveCode,
  isSameBrowser,
  requireDecision,
  type StoredAuthorizationRequest,
} from '../authorization-request.ts'
import type { IssuerContext } from '../context.ts'
import { addressWithCode, issuerOf } from './authorize.ts'

/** A browser that comes back from the application. */
export interface ReturningBrowser {
  readonly id: string
  /** The secret of the decision. */
  readonly completion: string | undefined
  readonly cookie: string | undefined
}

/**
 * Returns the address of the wallet, with a code or with the refusal. Refuses with `not_found`, `gone` or
 * `invalid_request`; the right secret in another browser ends the request, since two people are in it.
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
    const conflict = await commitStep(context, { id, ...row }, nextRequest)
    if (conflict !== undefined) return { conflict }
    if (!isOwnBrowser) {
      refuse('invalid_request', 'this is another browser than the one that the wallet opened; begin anew in the wallet')
    }
    const { request } = storedRequest
    if (decision.denied === undefined) return { committed: addressWithCode(context, id, request) }
    const refusal = { error: 'access_denied', error_description: decision.denied.reason, state: request.state }
    return { committed: responseAddress(request.redirectUri, issuerOf(context, request), refusal) }
  })
}

function commitStep(
  { store, now }: IssuerContext,
  { id, version }: Row<StoredAuthorizationRequest> & { readonly id: string },
  value: StoredAuthorizationRequest,
) {
  return store.commit([{ update: 'authorization_request', id, version, value, dueAt: endOfRequest(value, now()) }])
}
