import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { expectRefusal } from '../../test/support/issuance.ts'
import { ISSUER_URL, startServices } from '../../test/support/services.ts'
import { retryOnConflict } from '../../test/support/store.ts'
import { startIssuance, statusOf } from '../../test/support/wire.ts'
import { voidIssuanceSessions } from './voiding.ts'

it('offers that were open are not given out any more, and no fetch of them is recorded', async () => {
  const services = await startServices()
  onTestFinished(() => services.close())
  const { sessionId } = await startIssuance(services)
  const now = () => services.clock.now
  const effects = { store: services.issuerStore, now, random: randomBytes, retryOnConflict }
  expect(await voidIssuanceSessions(effects, now())).toBe(1)
  const offer = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
  await expectRefusal(offer, { status: 410, error: 'gone', why: /offer has expired$/ })
  expect(await statusOf(services, ISSUER_URL, sessionId)).not.toHaveProperty('offer_fetched_at')
})
