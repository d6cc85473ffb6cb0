/** The outcome of `status.valid` for credentials of which everything else is good. */
import { expect } from 'vitest'
import type { Cbor } from '../../src/codec/cbor.ts'
import type { JsonObject } from '../../src/codec/json.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { outcomesOf } from '../attacks/attack.ts'
import { encryptedResponse } from './encryption.ts'
import { type Forgery, inProfile, makeForgery, putTogether, type World } from './forge.ts'
import { bindingOf, makeMdocForgery, mdocQuery, putMdocTogether } from './mdoc.ts'
import { profiles, queryFor, usualProfile } from './profiles.ts'
import { VERIFIER_URL } from './services.ts'
import { postForm, startVerification, statusOf } from './wire.ts'

/** Returns the outcome and the detail. */
export function statusOutcome({ credentials, verified }: VerificationReport): string {
  const [report] = Object.values(credentials).flat()
  const { outcome, detail } = report?.checks.find(({ id }) => id === 'status.valid') ?? {}
  const others = Object.entries(outcomesOf(report)).filter(([id]) => id !== 'status.valid')
  expect(others.filter(([, other]) => other !== 'passed' && other !== 'not_applicable')).toEqual([])
  expect(verified).toBe(outcome === 'passed' || outcome === 'warning')
  return `${outcome}: ${detail}`
}

/** Presents an mdoc with these members of `status`, and returns the outcome and the detail. */
export async function statusOfMdoc(world: World, ...members: [string, Cbor][]): Promise<string> {
  const { services } = world
  const { sessionId, request } = await startVerification(services, mdocQuery)
  const forgery = await makeMdocForgery(world, bindingOf(request, services.clock.now))
  forgery.mso.set('status', new Map(members))
  const vp_token = { licence: [await putMdocTogether(forgery)] }
  const response = await encryptedResponse(request, { vp_token, state: request.state })
  await postForm(services, request.response_uri, { response })
  const { result } = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as { result: VerificationReport }
  return statusOutcome(result)
}

/** Presents a credential of a format with these members, and returns the outcome and the detail. */
export async function statusOfCredential(
  world: World,
  { status, credentialStatus }: JsonObject,
  format = usualProfile.format,
): Promise<string> {
  const profile = profiles.find((each) => each.format === format) ?? usualProfile
  const formatWorld = profile === usualProfile ? world : await inProfile(world, profile)
  const report = await present(formatWorld, queryFor(profile), ({ payload }) => {
    const credential = profile.w3c?.[0] === 'vc' ? (payload.vc as JsonObject) : payload
    if (status === undefined) Reflect.deleteProperty(payload, 'status')
    else payload.status = status
    if (credentialStatus !== undefined) credential.credentialStatus = credentialStatus
  })
  return statusOutcome(report)
}

/** Presents a credential after `change`, and returns the report. */
export async function present(
  world: World,
  query: object,
  change: (forgery: Forgery) => void,
): Promise<VerificationReport> {
  const { services } = world
  const { sessionId, request } = await startVerification(services, { credentials: [query] })
  const forgery = await makeForgery(world, request)
  change(forgery)
  const vpToken = JSON.stringify({ card: [await putTogether(forgery)] })
  await postForm(services, request.response_uri, { vp_token: vpToken, state: request.state })
  const { result } = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as { result: VerificationReport }
  return result
}
