import { expect, it } from 'vitest'
import { PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from './grant-types.ts'
import { DEFAULT_ENCRYPTION, STATIC_AUDIENCE, X509_HASH_PREFIX } from './oid4vp.ts'

it('the constants are those of the specifications', () => {
  // OpenID4VP 1.0: aud of a Request Object, Client Identifier Prefixes, Encrypted Responses.
  expect(STATIC_AUDIENCE).toBe('https://self-issued.me/v2')
  expect(X509_HASH_PREFIX).toBe('x509_hash:')
  expect(DEFAULT_ENCRYPTION).toBe('A128GCM')
  // OpenID4VCI 1.0, Pre-Authorized Code Flow; RFC 6749 section 6.
  expect(PRE_AUTHORIZED_GRANT).toBe('urn:ietf:params:oauth:grant-type:pre-authorized_code')
  expect(REFRESH_GRANT).toBe('refresh_token')
})
