/** From an act of the issuing application to what a verifier says: both services, each asking the other as in life. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { encryptedResponse } from '../support/encryption.ts'
import type { World } from '../support/forge.ts'
import {
  bindingOf,
  makeMdocForgery,
  mdocConfiguration,
  mdocDataset,
  mdocProfile,
  mdocQuery,
  putMdocTogether,
} from '../support/mdoc.ts'
import { type Profile, profiles, queryFor } from '../support/profiles.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import {
  call,
  dataset,
  declare,
  fetchNonce,
  holderSigner,
  keyProof,
  postForm,
  presentationOf,
  redeem,
  requestCredential,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

const TTL = 60
let services: Services
let holder: Awaited<ReturnType<typeof holderSigner>>
beforeAll(async () => {
  services = await startServices({ issuer: { statusList: { ttlSeconds: TTL } } })
  holder = await holderSigner()
})
afterAll(() => services.close())

interface Issued {
  readonly sessionId: string
  readonly credential: string
}

async function issue(posted: unknown, data: unknown = dataset): Promise<Issued> {
  const id = await declare(services, posted)
  const { sessionId } = await startIssuance(services, { credential_configurations: [id], credential_dataset: data })
  const token = await redeem(services, sessionId)
  const nonce = await fetchNonce(services, sessionId)
  const jwt = await keyProof({ holder, nonce, audience: `${ISSUER_URL}/${sessionId}` }, services.clock.now)
  const proof = { proof_type: 'jwt', jwt }
  const response = await requestCredential(services, token, { credential_configuration_id: id, proof })
  const body = (await response.json()) as { credentials: { credential: string }[] }
  return { sessionId, credential: body.credentials[0]?.credential ?? '' }
}

async function present({ credential }: Issued, profile: Profile): Promise<string> {
  if (profile === mdocProfile) return presentMdoc(credential)
  const { sessionId, request } = await startVerification(services, { credentials: [queryFor(profile)] })
  const at = { now: services.clock.now, places: [[...profile.root, 'given_name']], format: profile.format }
  const vpToken = JSON.stringify({ card: [await presentationOf(credential, holder, request, at)] })
  await postForm(services, request.response_uri, { vp_token: vpToken, state: request.state })
  return answerOf(sessionId)
}

async function presentMdoc(credential: string): Promise<string> {
  const { sessionId, request } = await startVerification(services, mdocQuery)
  const world = { services, holder, credential, issuerKey: services.issuerKey } as World
  const text = await putMdocTogether(await makeMdocForgery(world, bindingOf(request, services.clock.now)))
  const response = await encryptedResponse(request, { vp_token: { licence: [text] }, state: request.state })
  await postForm(services, request.response_uri, { response })
  return answerOf(sessionId)
}

async function answerOf(sessionId: string): Promise<string> {
  const { status, result } = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as {
    readonly status: string
    readonly result: VerificationReport
  }
  const [credential] = Object.values(result.credentials).flat()
  return `${status}: ${credential?.checks.find(({ id }) => id === 'status.valid')?.detail}`
}

async function act(word: 'revoke' | 'suspend' | 'reinstate', { sessionId }: Issued): Promise<void> {
  const response = await call(services, `${ISSUER_URL}/credential-status/${word}/${sessionId}`, {})
  expect(response.status).toBe(200)
  // The time of what a verifier has kept is over.
  services.clock.now = new Date(services.clock.now.getTime() + TTL * 1000)
}

const rows: readonly (readonly [string, Profile, object, object])[] = [
  ...profiles.map((profile) => [profile.format, profile, profile.configuration, dataset] as const),
  ['mso_mdoc', mdocProfile, mdocConfiguration, mdocDataset],
  ...profiles
    .filter(({ w3c }) => w3c !== undefined)
    .map((profile) => {
      const posted = { ...profile.configuration, status: 'bitstring' }
      return [`${profile.format} with entries of the W3C beside`, profile, posted, dataset] as const
    }),
]

describe('a credential that its issuer takes back', () => {
  it.each(rows)('%s: is suspended, reinstated, and revoked', async (_, profile, posted, data) => {
    const [issued, other] = [await issue(posted, data), await issue(posted, data)]
    expect(await present(issued, profile)).toMatch(
      /^VERIFICATION_SUCCEEDED: not revoked or suspended by the status list/,
    )
    await act('suspend', issued)
    // The list of mdocs knows only whether a credential is revoked. ISO/IEC 18013-5 12.3.6.
    const state = profile.format === 'mso_mdoc' ? 'revoked' : 'suspended'
    expect(await present(issued, profile)).toMatch(new RegExp(`^VERIFICATION_FAILED: ${state} by the status list http`))
    await act('reinstate', issued)
    expect(await present(issued, profile)).toMatch(/^VERIFICATION_SUCCEEDED/)
    await act('revoke', issued)
    expect(await present(issued, profile)).toMatch(/^VERIFICATION_FAILED: revoked by the status list http/)
    expect(await present(other, profile)).toMatch(/^VERIFICATION_SUCCEEDED: .*( and kept since|…)/)
  })

  it('is taken from a list that was fetched before, until its ttl is over', async () => {
    const [profile] = profiles
    if (profile === undefined) throw new Error('no profile')
    const issued = await issue(profile.configuration)
    expect(await present(issued, profile)).toMatch(/^VERIFICATION_SUCCEEDED/)
    await call(services, `${ISSUER_URL}/credential-status/revoke/${issued.sessionId}`, {})
    expect(await present(issued, profile)).toMatch(/^VERIFICATION_SUCCEEDED: .* and kept since$/)
    services.clock.now = new Date(services.clock.now.getTime() + TTL * 1000)
    expect(await present(issued, profile)).toMatch(/^VERIFICATION_FAILED: revoked/)
  })

  it('and one that was never to be revoked has no status', async () => {
    const [profile] = profiles
    if (profile === undefined) throw new Error('no profile')
    const issued = await issue({ ...profile.configuration, revocable: false })
    expect(await present(issued, profile)).toBe('VERIFICATION_SUCCEEDED: the credential carries no status')
  })
})
