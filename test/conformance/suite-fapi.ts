/** The modules of FAPI 2.0 in the OpenID Foundation's plan for issuers by HAIP. */
import { at, type Row } from './row.ts'

/** Makes the row of a module of FAPI 2.0 in the plan by HAIP. */
function fapiModule(name: string, asks: string, source: string): Row {
  const id = `fapi2-security-profile-final-${name}`
  return { id, asks, source, tests: [[at.oidfIssuerFapi, id]] }
}

const FAPI = 'FAPI 2.0 Security Profile, Requirements for authorization servers'
export const fapiModules: readonly Row[] = [
  fapiModule(
    'discovery-end-point-verification',
    'The metadata has what FAPI 2.0 demands, and its algorithms alone',
    FAPI,
  ),
  fapiModule(
    'happy-flow',
    'The whole flow of two clients; a token is of no use to the other, and none in a query',
    FAPI,
  ),
  fapiModule(
    'user-rejects-authentication',
    'A person who refuses: `access_denied`, with `state` and `iss`',
    'RFC 6749 section 4.1.2.1',
  ),
  fapiModule('ensure-authorization-request-without-state-success', 'No `state` comes back where none was sent', FAPI),
  fapiModule(
    'access-token-type-header-case-sensitivity',
    'The name of the scheme in any case',
    'RFC 9110 section 11.1',
  ),
  fapiModule('check-dpop-proof-nbf-exp', 'A DPoP proof with `nbf` and `exp` is taken', 'RFC 9449 section 4.2'),
  fapiModule('ensure-dpopproof-with-iat-10seconds-before-succeeds', 'A DPoP proof of ten seconds ago is taken', FAPI),
  fapiModule(
    'ensure-dpopproof-with-iat-10seconds-after-succeeds',
    'A DPoP proof of a clock ten seconds ahead is taken',
    FAPI,
  ),
  fapiModule(
    'ensure-mismatched-dpop-jkt-fails',
    '`dpop_jkt` beside a proof by another key is refused',
    'RFC 9449 section 10',
  ),
  fapiModule(
    'ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt',
    'A code goes with the key that pushed',
    'RFC 9449 section 10',
  ),
  fapiModule(
    'ensure-token-endpoint-fails-with-mismatched-dpop-jkt',
    'A code goes with the key of `dpop_jkt`',
    'RFC 9449 section 10',
  ),
  fapiModule('ensure-dpopproof-at-par-endpoint-binding-success', 'The key that pushed redeems', 'RFC 9449 section 10'),
  fapiModule('ensure-dpop-auth-code-binding-success', 'The key of `dpop_jkt` redeems', 'RFC 9449 section 10'),
  fapiModule(
    'ensure-different-state-inside-and-outside-request-object',
    'Another `state` beside a `request_uri` is ignored',
    'RFC 9101 section 6.3',
  ),
  fapiModule('ensure-authorization-request-with-long-state', 'A `state` of 1000 characters comes back', FAPI),
  fapiModule(
    'state-only-outside-request-object-not-used',
    'A `state` beside a `request_uri` is ignored',
    'RFC 9101 section 6.3',
  ),
  fapiModule('ensure-request-object-without-redirect-uri-fails', 'No redirect URI is refused where it is pushed', FAPI),
  fapiModule(
    'ensure-redirect-uri-in-authorization-request',
    'An empty redirect URI is refused where it is pushed',
    FAPI,
  ),
  fapiModule(
    'plain-fapi-tolerate-unregistered-redirect-uri',
    'A redirect URI that nobody registered is taken',
    'RFC 9126 section 2.4',
  ),
  fapiModule(
    'ensure-unsigned-authorization-request-without-using-par-fails',
    'A request that was not pushed is refused',
    FAPI,
  ),
  fapiModule('ensure-response-type-code-idtoken-fails', '`code id_token` is refused', FAPI),
  fapiModule('ensure-response-type-token-fails', '`token` is refused', FAPI),
  fapiModule('ensure-client-id-in-token-endpoint', 'The code of another client is refused', 'RFC 6749 section 5.2'),
  fapiModule(
    'ensure-authorization-code-is-bound-to-client',
    'The code of another client is `invalid_grant`, and stays good',
    'RFC 6749 section 5.2',
  ),
  fapiModule(
    'ensure-holder-of-key-required',
    'A token request without DPoP is refused. TLS is that of the reverse proxy',
    FAPI,
  ),
  fapiModule(
    'attempt-reuse-authorization-code-after-one-second',
    'A code that comes again is `invalid_grant`, and ends its token',
    'RFC 6749 section 4.1.2',
  ),
  fapiModule(
    'ensure-token-endpoint-fails-with-expired-auth-code',
    'A code of more than a minute is `invalid_grant`',
    FAPI,
  ),
  fapiModule(
    'dpop-negative-tests',
    'Each mistake of a DPoP proof is refused, and what does not matter is taken',
    'RFC 9449 section 4.3',
  ),
  fapiModule(
    'refresh-token',
    'Refresh tokens are bound to client and instance, and stay as they are',
    'RFC 6749 section 6',
  ),
  fapiModule(
    'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds',
    'A page that is loaded anew before the person decided goes on',
    FAPI,
  ),
  fapiModule('par-attempt-reuse-request_uri', 'A `request_uri` that was used is refused', 'RFC 9126 section 7.3'),
  fapiModule(
    'par-attempt-to-use-expired-request_uri',
    'A `request_uri` that has expired is refused',
    'RFC 9126 section 2.2',
  ),
  fapiModule(
    'par-attempt-to-use-request_uri-for-different-client',
    'The `request_uri` of another client is refused',
    'RFC 9126 section 2.2',
  ),
  fapiModule(
    'par-authorization-request-containing-request_uri-form-param',
    'A `request_uri` is not pushed',
    'RFC 9126 section 2.1',
  ),
  fapiModule('par-attempt-invalid-http-method', 'Pushing by PUT is refused', 'RFC 9126 section 2.3'),
  fapiModule('par-ensure-pkce-required', 'No PKCE is refused where it is pushed', FAPI),
  fapiModule('ensure-pkce-code-verifier-required', 'No `code_verifier` is `invalid_grant`', 'RFC 7636 section 4.6'),
  fapiModule(
    'incorrect-pkce-code-verifier-rejected',
    'Another `code_verifier` is `invalid_grant`',
    'RFC 7636 section 4.6',
  ),
  fapiModule('par-plain-pkce-rejected', 'Plain PKCE is refused where it is pushed', FAPI),
  fapiModule(
    'par-without-duplicate-parameters',
    '`client_id` and `request_uri` suffice at the authorization endpoint',
    'RFC 9126 section 4',
  ),
]
