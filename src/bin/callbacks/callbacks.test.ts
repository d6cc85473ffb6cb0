import { expect, it, onTestFinished } from 'vitest'
import { openTestStore } from '../../../test/support/store.ts'
import { deletionTimeOf } from '../../callback/queue.ts'
import type { EventCollections } from '../../event/event.ts'
import { partOf } from '../../store/store.ts'
import { type VerifierCollections, verifierMigrations } from '../../verifier/collections.ts'
import { retryAllEvents } from './callbacks.ts'

it('retries each event once, also where the service gives it up again meanwhile', async () => {
  const store = await openTestStore<VerifierCollections>(verifierMigrations)
  onTestFinished(() => store.close())
  const events = partOf<VerifierCollections, EventCollections>(store)
  const die = async (id: string, diedAt: number): Promise<void> => {
    const event = { id, type: 'verification.declined', at: 1, queuedAt: 1 } as const
    const value = { sessionId: 'deleted', event, problem: 'the session was deleted', diedAt }
    const change = {
      insert: 'dead_callback',
      id,
      value,
      dueAt: deletionTimeOf(value),
      createdAt: new Date(diedAt),
    } as const
    expect(await events.commit([change])).toBe(undefined)
  }
  for (let n = 0; n < 150; n++) await die(`event-${n}`, Date.now())
  const commit: typeof events.commit = async (changes) => {
    const conflict = await events.commit(changes)
    for (const change of changes)
      if ('delete' in change && change.delete === 'dead_callback') await die(change.id, Date.now())
    return conflict
  }
  expect(await retryAllEvents({ ...events, commit })).toMatchObject({ retried: 150 })
})
