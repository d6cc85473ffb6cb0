/** The names and revisions of the drafts, for the `spec` of checks. */

export const SD_JWT_VC = 'SD-JWT VC (draft-ietf-oauth-sd-jwt-vc-26)'
export const CLIENT_ATTESTATION =
  'Attestation-Based Client Authentication (draft-ietf-oauth-attestation-based-client-auth-11)'
export const TOKEN_STATUS_LIST = 'Token Status List (draft-ietf-oauth-status-list-21)'
