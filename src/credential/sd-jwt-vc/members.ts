/** The members that SD-JWT VC gives a meaning. SD-JWT VC, JWT Claims Set. */

/** The members that only an issuer writes, and that may not be disclosed selectively. RFC 9901 adds `aud`. */
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

/** The members that are about securing the credential and not about its subject. `sub` is about the subject. */
export const ENVELOPE: readonly string[] = [...ALWAYS_SHOWN, 'iat', 'jti']
