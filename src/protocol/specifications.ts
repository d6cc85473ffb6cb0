/** How the specifications are cited that are no RFC yet: by a revision, which becomes a number here and nowhere else. */

export const SD_JWT_VC = 'SD-JWT VC (draft-ietf-oauth-sd-jwt-vc-26)'
export const TOKEN_STATUS_LIST = 'Token Status List (draft-ietf-oauth-status-list-21)'
