/** The concerns that the first page of the console finds in the overview of a service. */
import { describe, expect, it } from 'vitest'
import { daysText, daysUntil, findConcerns, type Overview } from '../console/concerns.ts'

const NOW = 1_800_000_000
const DAY = 86_400
const sessions = { looked_at: 0, is_complete: true, hours: [] }

function overview(changes: object = {}): Overview {
  return {
    at: NOW,
    ready: true,
    certificates: [{ key: 'signing', subject: 'CN=us', not_after: NOW + 100 * DAY }],
    callbacks: { configured: true, waiting: 0, dead: 0 },
    sessions,
    last_success: {},
    trust_anchors: { count: 1, ending_first: [{ subject: 'CN=them', not_after: NOW + 100 * DAY }] },
    ...changes,
  }
}

const found = (changes: object) => findConcerns('verifier', overview(changes)).map(({ look, text }) => [look, text])

describe('the concerns of a service', () => {
  it('are none when all is well', () => {
    expect(found({})).toEqual([])
    expect(found({ callbacks: { configured: true, waiting: 3, oldest_waiting_at: NOW - 3599, dead: 0 } })).toEqual([])
  })

  it('are a certificate that ends within thirty days, and one that has ended', () => {
    const ending = (days: number) => ({
      certificates: [{ key: 'signing', subject: 'CN=us', not_after: NOW + days * DAY }],
    })
    expect(found(ending(30))).toEqual([])
    const what = "The certificate of the verifier's signing (CN=us)"
    expect(found(ending(29))).toEqual([['warning', `${what} ends in 29 days: renew it.`]])
    expect(found(ending(0))).toEqual([['warning', `${what} ends within a day: renew it.`]])
    expect(found(ending(-1))).toEqual([['bad', `${what} has ended: renew it.`]])
  })

  it('are trust anchors that end, and that there are none', () => {
    const anchors = { count: 1, ending_first: [{ subject: 'CN=them', not_after: NOW + DAY }] }
    expect(found({ trust_anchors: anchors })).toEqual([
      ['warning', 'The trust anchor CN=them ends in 1 day: ask its issuer for the next one.'],
    ])
    expect(found({ trust_anchors: undefined })).toEqual([
      ['warning', 'The verifier has no trust anchors: anybody may have issued what is presented.'],
    ])
  })

  it('are not trust anchors of an issuer, which needs none', () => {
    const statusLists = { ttl_seconds: 300, current: [] }
    expect(findConcerns('issuer', overview({ trust_anchors: undefined, status_lists: statusLists }))).toEqual([])
  })

  it('are callbacks that were given up, and those that wait for an hour', () => {
    const callbacks = { configured: true, waiting: 2, oldest_waiting_at: NOW - 3600, dead: 1000, last_problem: 'no' }
    expect(found({ callbacks })).toEqual([
      ['bad', 'Events of the verifier that were given up: 1000 or more.'],
      [
        'warning',
        'Sessions of the verifier whose events wait, since an hour or longer: 2; the last delivery failed: no.',
      ],
    ])
  })

  it('have the pressing ones first', () => {
    const anchors = { count: 1, ending_first: [{ subject: 'CN=them', not_after: NOW - 1 }] }
    const certificates = [{ key: 'signing', subject: 'CN=us', not_after: NOW + DAY }]
    expect(found({ ready: false, certificates, trust_anchors: anchors }).map(([look]) => look)).toEqual([
      'bad',
      'bad',
      'warning',
    ])
  })
})

it('counts whole days, of which none is left at the end', () => {
  expect([NOW + DAY - 1, NOW, NOW - 1].map((time) => daysText(daysUntil(time, NOW)))).toEqual([
    'within a day',
    'within a day',
    'ended',
  ])
})
