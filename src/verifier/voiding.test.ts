import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { startServices } from '../../test/support/services.ts'
import { retryOnConflict, withDamagedRows } from '../../test/support/store.ts'
import { startVerification } from '../../test/support/wire.ts'
import { voidVerificationSessions } from './voiding.ts'

it('sessions that waited for a response are ended with an event, and neither later nor ended ones', async () => {
  const services = await startServices()
  onTestFinished(() => services.close())
  const { verifierStore: store, clock } = services
  const open = await startVerification(services)
  const ended = await startVerification(services, undefined, { expires_in: 60 })
  clock.now = new Date(clock.now.getTime() + 120_000)
  const before = clock.now
  clock.now = new Date(clock.now.getTime() + 1000)
  const later = await startVerification(services)
  const value = { bodyMac: 'mac', answer: { session_id: open.sessionId }, until: clock.now.getTime() + 60_000 }
  await store.commit([{ insert: 'idempotent_answer', id: 'a', value, dueAt: new Date(value.until) }])
  const effects = { store, now: () => clock.now, random: randomBytes, retryOnConflict }
  expect(await voidVerificationSessions(effects, before)).toBe(1)
  expect(await voidVerificationSessions(effects, before)).toBe(0)
  expect(await store.list('idempotent_answer')).toEqual([])
  const sessions = new Map((await store.list('verification_session')).map(({ id, value }) => [id, value]))
  expect(sessions.get(open.sessionId)).toMatchObject({ expiredAt: clock.now.getTime() })
  expect(sessions.get(open.sessionId)?.encryptionKey).toBe(undefined)
  for (const { sessionId } of [ended, later]) expect(sessions.get(sessionId)?.expiredAt).toBe(undefined)
  const events = (await store.list('event')).map(({ value }) => [value.type, value.sessionId])
  expect(events).toContainEqual(['verification.expired', open.sessionId])
})

it('a session whose row is damaged keeps no other from its end', async () => {
  const services = await startServices()
  onTestFinished(() => services.close())
  const { verifierStore: store, clock } = services
  const [damaged, open] = [await startVerification(services), await startVerification(services)]
  const withDamage = withDamagedRows(store, (id) => id === damaged.sessionId)
  const effects = { store: withDamage, now: () => clock.now, random: randomBytes, retryOnConflict }
  expect(await voidVerificationSessions(effects, clock.now)).toBe(1)
  expect((await store.get('verification_session', open.sessionId))?.value).toHaveProperty('expiredAt')
})

it('sessions that waited for a response are erased as if they had expired then', async () => {
  const services = await startServices({ verifier: { retention: { personalDataSeconds: 0, sessionSeconds: 60 } } })
  onTestFinished(() => services.close())
  const { verifierStore: store, clock } = services
  const { sessionId } = await startVerification(services, undefined, { expires_in: 3600 })
  await voidVerificationSessions({ store, now: () => clock.now, random: randomBytes, retryOnConflict }, clock.now)
  clock.now = new Date(clock.now.getTime() + 61_000)
  for (let times = 0; times < 2; times++) await services.runTasks()
  expect(await store.get('verification_session', sessionId)).toBe(undefined)
})
