/** The limits of a key binding's times, to the millisecond: what is just in time, and what is just not. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeForgery, putTogether, startWorld, type World } from '../support/forge.ts'
import { VERIFIER_URL } from '../support/services.ts'
import { postForm, startVerification, statusOf } from '../support/wire.ts'

const SKEW = 60
/** Seconds from the beginning of the session's second to the response. */
const LATER = 10

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.services.close())

/** Times are in seconds from the beginning of the second in which the session started. */
it.each([
  ['made in the first second of the session, before it began', { iat: 0 }, true],
  ['made before the session by as much as clocks may differ', { iat: -SKEW }, true],
  ['made before the session by a moment more', { iat: -SKEW - 0.03 }, false],
  ['made after us by as much as clocks may differ', { iat: LATER + SKEW }, true],
  ['made after us by a moment more', { iat: LATER + SKEW + 0.03 }, false],
  ['over for less than clocks may differ', { iat: 1, exp: LATER - SKEW + 1 }, true],
  ['over for as much as clocks may differ', { iat: 1, exp: LATER - SKEW }, false],
  ['not valid for as much as clocks may differ', { iat: 1, nbf: LATER + SKEW }, true],
  ['not valid for a second more', { iat: 1, nbf: LATER + SKEW + 1 }, false],
])('a key binding %s', async (_, times, accepted) => {
  const { services } = world
  const { clock } = services
  const second = Math.ceil(clock.now.getTime() / 1000)
  clock.now = new Date(second * 1000 + 500)
  const { sessionId, request } = await startVerification(services)
  const forgery = await makeForgery(world, request)
  const moved = Object.entries(times).map(([name, time]) => [name, second + time] as const)
  Object.assign(forgery.binding?.payload ?? {}, Object.fromEntries(moved))
  const vpToken = JSON.stringify({ card: [await putTogether(forgery)] })

  clock.now = new Date((second + LATER) * 1000)
  const response = await postForm(services, request.response_uri, { vp_token: vpToken, state: request.state })
  expect(response.status).toBe(accepted ? 200 : 400)
  const status = accepted ? 'VERIFICATION_SUCCEEDED' : 'VERIFICATION_FAILED'
  expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status })
})
