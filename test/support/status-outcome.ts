/** The outcome of `status.valid` for credentials of which everything else is good. */
import { expect } from 'vitest'
import type { Cbor } from '../../src/codec/cbor.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { outcomesOf } from '../attacks/attack.ts'
import { encryptedResponse } from './encryption.ts'
import type { World } from './forge.ts'
import { bindingOf, makeMdocForgery, mdocQuery, putMdocTogether } from './mdoc.ts'
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
