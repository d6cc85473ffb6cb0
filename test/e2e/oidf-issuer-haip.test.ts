/**
 * Modules of the OpenID Foundation's plan oid4vci-1_0-issuer-haip-test-plan that look at the answer to a pushed
 * request, each played by the test of its name against an issuer by HAIP.
 */
import { beforeAll, expect, it } from 'vitest'
import { PAR, SCOPE, walletAsking } from '../support/code-flow.ts'
import { type HaipWorld, haipCard, startHaip } from '../support/haip.ts'
import { expectRefusal } from '../support/issuance.ts'
import type { JwtChanges } from '../support/jwt.ts'
import { ISSUER_URL } from '../support/services.ts'
import { fetchChallenge, popOf, WALLET, walletAttestation } from '../support/wallet-attestation.ts'
import { declare, holderSigner } from '../support/wire.ts'

let world: HaipWorld
beforeAll(async () => {
  world = await startHaip()
  await declare(world.services, haipCard)
  return () => world.services.close()
})

interface Changes {
  readonly attestation?: JwtChanges
  readonly pop?: JwtChanges
}

async function push(changes: Changes = {}): Promise<Response> {
  const { services, instance } = world
  const { now } = services.clock
  const proved = { now, challenge: await fetchChallenge(services), audience: ISSUER_URL }
  return services.fetch(PAR, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'oauth-client-attestation': await walletAttestation(instance, now, changes.attestation),
      'oauth-client-attestation-pop': await popOf(instance, proved, changes.pop),
    },
    body: new URLSearchParams(walletAsking({ scope: SCOPE, client_id: WALLET }).form).toString(),
  })
}

async function refuses(changes: Changes, check: string): Promise<void> {
  const refusal = { status: 400, error: 'invalid_client_attestation', why: new RegExp(`^${check}`) }
  await expectRefusal(await push(changes), refusal)
  expect((await push()).status).toBe(201)
}

const signedByAnother = async (): Promise<JwtChanges> => {
  const key = await holderSigner()
  return { sign: (data) => key.sign(data) }
}

it('oid4vci-1_0-issuer-fail-invalid-client-attestation-signature', async () =>
  refuses({ attestation: await signedByAnother() }, 'attestation.signature'))

it('oid4vci-1_0-issuer-fail-invalid-client-attestation-pop-signature', async () =>
  refuses({ pop: await signedByAnother() }, 'pop.signature'))

it('oid4vci-1_0-issuer-fail-client-attestation-exp-in-past', () =>
  refuses({ attestation: { payload: { exp: Math.floor(Date.now() / 1000) - 300 } } }, 'attestation.validity'))

it('oid4vci-1_0-issuer-fail-client-attestation-no-sub', () =>
  refuses({ attestation: { payload: { sub: undefined } } }, 'attestation.client'))

it('oid4vci-1_0-issuer-fail-client-attestation-pop-wrong-aud', () =>
  refuses({ pop: { payload: { aud: 'https://other.example' } } }, 'pop.audience'))

it('oid4vci-1_0-issuer-fail-mismatched-client-attestation-pop-key', async () => {
  const { jwk } = await holderSigner()
  await refuses({ attestation: { payload: { cnf: { jwk } } } }, 'pop.signature')
})
