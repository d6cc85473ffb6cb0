/** A `jwt_vc_json` whose configuration says that its subject is its holder, from the offer to the report. */
import { expect, it, onTestFinished } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import { memberOf } from '../../src/codec/json.ts'
import { readJws } from '../../src/codec/jws.ts'
import { didUrlOf, toDidJwk, toDidKey } from '../../src/keys/did.ts'
import { type PublicJwk, readSigningJwk } from '../../src/keys/jwk.ts'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { readySession, requestWithProof } from '../support/issuance.ts'
import { ISSUER_URL, startServices, VERIFIER_URL } from '../support/services.ts'
import { testWallet } from '../support/wallet.ts'
import { call, declare, startIssuance, startVerification, statusOf } from '../support/wire.ts'

const type = ['VerifiableCredential', 'StudentCard']
const toDid = (jwk: object): string => `did:jwk:${toBase64url(JSON.stringify(jwk))}`
const configuration = { format: 'jwt_vc_json', credential_definition: { type }, subject: 'holder' }

it('is named by the key that the wallet proved, also in the report, and not in the metadata', async () => {
  const services = await startServices()
  onTestFinished(() => services.close())
  const credential_configurations = [await declare(services, configuration)]
  const { link } = await startIssuance(services, { credential_configurations })
  const { wallet } = testWallet(services.fetch, services.clock)
  const [stored] = await receiveOffer(wallet, link)
  const { payload } = readJws(stored?.credential ?? '')
  const holderKey = memberOf(memberOf(payload, 'cnf'), 'jwk')
  const did = toDidJwk(readSigningJwk(holderKey))
  expect(payload).toMatchObject({ sub: did, vc: { credentialSubject: { id: did, given_name: 'Ada' } } })

  const query = { id: 'card', format: 'jwt_vc_json', meta: { type_values: [type] } }
  const { sessionId, link: request } = await startVerification(services, { credentials: [query] })
  await sendPresentation(wallet, await planPresentation(wallet, request))
  const status = await statusOf(services, VERIFIER_URL, sessionId)
  expect(status).toMatchObject({
    status: 'VERIFICATION_SUCCEEDED',
    result: { credentials: { card: [{ claims: { credentialSubject: { id: did } } }] } },
  })
  const metadata = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
  expect(await metadata.text()).not.toContain('"subject"')

  const refused = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
    credential_configurations,
    credential_dataset: { credentialSubject: { id: 'did:example:1', given_name: 'Ada' } },
  })
  expect([refused.status, await refused.json()]).toEqual([
    400,
    {
      error: 'invalid_request',
      error_description: expect.stringMatching(/credentialSubject\.id: the issuer writes it/) as string,
    },
  ])
})

it.each<[string, (jwk: PublicJwk) => object, (jwk: PublicJwk) => string]>([
  ['the did:key of the proof', (jwk) => ({ kid: didUrlOf(toDidKey(jwk)) }), toDidKey],
  [
    'the did:jwk of the proof, which has more members',
    (jwk) => ({ kid: toDid({ ...jwk, alg: 'ES256' }) }),
    (jwk) => toDid({ ...jwk, alg: 'ES256' }),
  ],
  ['a did:jwk where that of the proof is long', (jwk) => ({ kid: toDid({ ...jwk, name: 'x'.repeat(400) }) }), toDidJwk],
  ['a did:jwk where the proof has a JWK', (jwk) => ({ kid: undefined, jwk }), toDidJwk],
])('is named by %s', async (_, header, did) => {
  const services = await startServices()
  onTestFinished(() => services.close())
  const credential_configurations = [await declare(services, configuration)]
  const ready = await readySession(services, { credential_configurations })
  const { jwk } = ready.holder
  const response = await requestWithProof(ready, { header: { ...header(jwk) } })
  const { credentials } = (await response.json()) as { credentials: readonly { credential: string }[] }
  expect(readJws(credentials[0]?.credential ?? '').payload).toMatchObject({ sub: did(jwk), cnf: { jwk } })
})
