import { describe, expect, it } from 'vitest'
import { isEnd, readStatusAnswer } from './status.ts'

describe('an answer of the application', () => {
  it.each([
    [{ status: 'STARTED' }, { status: 'waiting' }],
    [
      { status: 'STARTED', expires_at: 1_800_000_000 },
      { status: 'waiting', expiresAt: 1_800_000_000 },
    ],
    [{ status: 'STARTED', offer_fetched_at: 1 }, { status: 'opened' }],
    [{ status: 'STARTED', request_fetched_at: 1 }, { status: 'opened' }],
    [{ status: 'SUCCEEDED', offer_fetched_at: 1 }, { status: 'done' }],
    [{ status: 'VERIFICATION_SUCCEEDED' }, { status: 'done' }],
    [{ status: 'VERIFICATION_FAILED' }, { status: 'failed' }],
    [{ status: 'DECLINED' }, { status: 'declined' }],
    [{ status: 'EXPIRED' }, { status: 'expired' }],
    [{ status: 'opened' }, { status: 'opened' }],
    [{ status: 'done', expires_at: '5' }, { status: 'done' }],
  ])('%j is %j', (answer, expected) => {
    expect(readStatusAnswer(JSON.stringify(answer))).toEqual(expected)
  })

  it.each(['', '<html>', 'null', '[]', '{}', '{"status":5}', '{"status":"constructor"}', '{"status":"UNKNOWN"}'])(
    '%s is none',
    (text) => {
      expect(readStatusAnswer(text)).toBeUndefined()
    },
  )

  it('is none when it is longer than 64 KiB', () => {
    expect(readStatusAnswer(`{"status":"done"${' '.repeat(65_536)}}`)).toBeUndefined()
  })
})

it('ends with the four last statuses', () => {
  const statuses = ['waiting', 'opened', 'done', 'failed', 'declined', 'expired'] as const
  expect(statuses.filter(isEnd)).toEqual(['done', 'failed', 'declined', 'expired'])
})
