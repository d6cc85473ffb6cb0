import { pino } from 'pino'
import { expect, it } from 'vitest'
import { retryOnConflict } from '../../test/support/store.ts'
import type { Row } from '../store/store.ts'
import { createProgressRecorder } from './progress-recorder.ts'
import type { SessionProgress } from './session-progress.ts'

/** Makes a recorder of one session, in memory, and the list of what it has written. */
function recorderInMemory() {
  const written: SessionProgress[] = []
  const row = (): Row<SessionProgress> | undefined => {
    const value = written.at(-1)
    return value && { version: written.length, value }
  }
  const recorder = createProgressRecorder(
    { retryOnConflict, log: pino({ level: 'silent' }) },
    {
      findSession: (id) => Promise.resolve(id === 'session' ? {} : undefined),
      findProgress: () => Promise.resolve(row()),
      commitProgress: ({ value }) => {
        written.push(value)
        return Promise.resolve(undefined)
      },
      purgeTimeOf: () => new Date(0),
      selectRelevantProgress: (_, progress) => progress,
    },
  )
  return { recorder, written }
}
const refusal = (endpoint: string) => {
  return { problem: { endpoint, error: 'invalid_grant', description: 'no', count: 1, at: 1 } } as const
}

it('writes nothing for an offer that is fetched again and again', async () => {
  const { recorder, written } = recorderInMemory()
  for (const offerFetchedAt of [1, 2, 3]) {
    recorder.add('session', { offerFetchedAt })
    await recorder.finish()
  }
  expect(written).toEqual([{ offerFetchedAt: 1 }])
})

it('forgets of what is not written the fetch alone, and no refusal', async () => {
  const { recorder, written } = recorderInMemory()
  recorder.add('session', { offerFetchedAt: 1 })
  recorder.forgetUnwrittenFetch('session')
  expect(recorder.getUnwritten('session')).toEqual({})
  for (const progress of [{ offerFetchedAt: 1 }, refusal('token'), refusal('credential')])
    recorder.add('session', progress)
  recorder.forgetUnwrittenFetch('session')
  await recorder.finish()
  expect(written).toEqual([{ ...refusal('credential'), earlier: [refusal('token').problem] }])
})
