/** The members that SD-JWT VC gives a meaning. SD-JWT VC, JWT Claims Set. */

/** Only an issuer writes them, and none may be disclosed selectively. RFC 9901 adds `aud`. */
export const ALWAYS_SHOWN: readonly string[] = [
  'iss',
  'aud',
  'nbf',
  'exp',
  'cnf',
  'vct',
  'vct#integrity',
  'aka_vcts',
  'status',
]

/** About the securing and not about the subject. `sub` is about the subject. */
export const ENVELOPE: readonly string[] = [...ALWAYS_SHOWN, 'iat', 'jti']
