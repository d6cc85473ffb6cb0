import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { encryptJwe } from '../keys/jwe.ts'
import { readPublicJwk } from '../keys/jwk.ts'
import { makePrivateJwk } from '../keys/private-jwk.ts'
import { chooseResponseMode, decryptResponse, responseEncryptionMetadata } from './response-encryption.ts'

const asking = (...formats: string[]) => ({
  credentials: formats.map((format, index) => ({ id: `c${index}`, format, meta: {} })),
})

it.each([
  [['mso_mdoc'], 'direct_post.jwt'],
  [['jwt_vc_json-ld', 'mso_mdoc'], 'direct_post.jwt'],
  [['mso_mdoc', 'dc+sd-jwt'], 'direct_post.jwt'],
  [['jwt_vc_json-ld'], 'direct_post'],
  [['vc+sd-jwt', 'dc+sd-jwt', 'jwt_vc_json'], 'direct_post'],
])('a query for %j has the response mode %s, and direct_post.jwt in any case under the profile', (formats, mode) => {
  expect(chooseResponseMode(asking(...formats), undefined)).toBe(mode)
  expect(chooseResponseMode(asking(...formats), 'haip')).toBe('direct_post.jwt')
})

it('a response is read up to its limit', async () => {
  const key = makePrivateJwk(randomBytes)
  const { jwks } = responseEncryptionMetadata(key) as {
    jwks: { keys: [{ kty: string; crv: string; x: string; y: string; kid: string }] }
  }
  const [{ kid, kty, crv, x, y }] = jwks.keys
  const to = { jwk: readPublicJwk({ kty, crv, x, y }), alg: 'ECDH-ES', enc: 'A128GCM', kid } as const
  const text = await encryptJwe('{"vp_token":{}}', to)
  expect(await decryptResponse(text, key, text.length)).toEqual({ vp_token: {} })
  await expect(decryptResponse(text, key, text.length - 1)).rejects.toMatchObject({
    code: 'invalid_request',
    message: `response: it is larger than ${text.length - 1} bytes`,
  })
})

it('the first encryption of a request is A128GCM, since many wallets take the first or know no other', () => {
  const { encrypted_response_enc_values_supported: encryptions } = responseEncryptionMetadata(
    makePrivateJwk(randomBytes),
  )
  expect(encryptions).toEqual(['A128GCM', 'A256GCM'])
})
