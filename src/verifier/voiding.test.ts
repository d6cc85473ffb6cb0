import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { startServices } from '../../test/support/services.ts'
import { openTestStore, retryOnConflict, withDamagedRows } from '../../test/support/store.ts'
import { postForm, startVerification } from '../../test/support/wire.ts'
import { type VerifierCollections, verifierMigrations } from './collections.ts'
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

it('a response whose session is ended while it is decided gets 410, and changes nothing', async () => {
  const store = await openTestStore<VerifierCollections>(verifierMigrations)
  const services = await startServices({
    verifierStore: {
      ...store,
      commit: async (changes) => {
        const isResponse = changes.some(
          (change) => 'update' in change && change.update === 'verification_session' && 'outcome' in change.value,
        )
        if (isResponse) await voidVerificationSessions({ store, now, random: randomBytes, retryOnConflict }, now())
        return store.commit(changes)
      },
    },
  })
  onTestFinished(() => services.close())
  const now = () => services.clock.now
  const { sessionId, request } = await startVerification(services)
  const response = await postForm(services, request.response_uri, { error: 'access_denied', state: request.state })
  expect([response.status, await response.json()]).toEqual([
    410,
    { error: 'gone', error_description: 'this session has expired' },
  ])
  const session = (await store.get('verification_session', sessionId))?.value
  expect(session).toHaveProperty('expiredAt')
  expect(session).not.toHaveProperty('outcome')
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
