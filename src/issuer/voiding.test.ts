import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { expectRefusal } from '../../test/support/issuance.ts'
import { ISSUER_URL, startServices } from '../../test/support/services.ts'
import { retryOnConflict } from '../../test/support/store.ts'
import { authorization, dataset, declare, startIssuance, statusOf } from '../../test/support/wire.ts'
import { voidIssuanceSessions } from './voiding.ts'

it('offers that were open are not given out any more, and no fetch of them is recorded', async () => {
  const services = await startServices()
  onTestFinished(() => services.close())
  const { sessionId } = await startIssuance(services)
  const now = () => services.clock.now
  const effects = { store: services.issuerStore, now, random: randomBytes, retryOnConflict }
  expect(await voidIssuanceSessions(effects, now())).toBe(1)
  const offer = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
  await expectRefusal(offer, { status: 410, error: 'gone', why: /offer has expired; ask for a new one$/ })
  expect(await statusOf(services, ISSUER_URL, sessionId)).not.toHaveProperty('offer_fetched_at')
})

it('offers that were open keep no claims, however long they would have been good', async () => {
  const services = await startServices()
  onTestFinished(() => services.close())
  const { sessionId } = await startIssuance(services, { expires_in: 604_800 })
  const { issuerStore: store, clock } = services
  await voidIssuanceSessions({ store, now: () => clock.now, random: randomBytes, retryOnConflict }, clock.now)
  expect((await store.get('issuance_dataset', sessionId))?.value).not.toBe(null)
  clock.now = new Date(clock.now.getTime() + 1000)
  await services.runTasks()
  expect((await store.get('issuance_dataset', sessionId))?.value).toBe(null)
})

it('a repeat of a request from before begins a session anew', async () => {
  const services = await startServices()
  onTestFinished(() => services.close())
  const id = await declare(services)
  const start = async () => {
    const headers = { ...authorization, 'content-type': 'application/json', 'idempotency-key': 'a' }
    const body = JSON.stringify({ credential_dataset: dataset, credential_configurations: [id] })
    const url = `${ISSUER_URL}/issuance/oid4vci/new-session`
    const response = await services.fetch(url, { method: 'POST', headers, body })
    return ((await response.json()) as { session_id: string }).session_id
  }
  const sessionId = await start()
  expect(await start()).toBe(sessionId)
  const now = () => services.clock.now
  const effects = { store: services.issuerStore, now, random: randomBytes, retryOnConflict }
  expect(await voidIssuanceSessions(effects, now())).toBe(1)
  expect(await statusOf(services, ISSUER_URL, await start())).toMatchObject({ status: 'STARTED' })
})
