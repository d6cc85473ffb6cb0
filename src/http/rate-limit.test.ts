import { describe, expect, it } from 'vitest'
import { createRateLimiter } from './rate-limit.ts'

const CALLER = '192.0.2.1'

describe('an allowance', () => {
  const of = (perMinute: number) => {
    const clock = { at: 0 }
    return { clock, limit: createRateLimiter(perMinute, () => new Date(clock.at)) }
  }

  it('gives so many at once, and then as many in the course of a minute', () => {
    const { limit, clock } = of(3)
    expect([
      limit.countRequest(CALLER),
      limit.countRequest(CALLER),
      limit.countRequest(CALLER),
      limit.countRequest(CALLER),
      limit.getWaitSeconds(CALLER),
    ]).toEqual([0, 0, 0, 20, 20])
    clock.at = 19_999
    expect(limit.countRequest(CALLER)).toBe(1)
    clock.at = 20_000
    expect([limit.countRequest(CALLER), limit.countRequest(CALLER)]).toEqual([0, 20])
    clock.at = 10 * 60_000
    expect([
      limit.countRequest(CALLER),
      limit.countRequest(CALLER),
      limit.countRequest(CALLER),
      limit.countRequest(CALLER),
    ]).toEqual([0, 0, 0, 20])
  })

  it('counts all clients that have reset their connections as one', () => {
    const { limit } = of(1)
    expect([limit.countRequest(undefined), limit.countRequest(undefined)]).toEqual([0, 60])
  })

  it('uses nothing up when it is only asked how long to wait, or has none to give', () => {
    const { limit, clock } = of(1)
    expect([limit.getWaitSeconds(CALLER), limit.getWaitSeconds(CALLER), limit.countRequest(CALLER)]).toEqual([0, 0, 0])
    for (let i = 0; i < 100; i++) limit.countRequest(CALLER)
    clock.at = 60_000
    expect(limit.countRequest(CALLER)).toBe(0)
  })

  it.each([
    ['192.0.2.1', '192.0.2.2', false],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['2001:db8::1', '2001:db8:0:0:5::', true],
    ['::1', '::2', true],
    ['2001:db8:1:2::1', '2001:0DB8:0001:0002::1', true],
    ['192.0.2.1', '::ffff:192.0.2.1', true],
    ['192.0.2.1:50001', '192.0.2.1:50002', true],
    ['192.0.2.1:50001', '192.0.2.2:50001', false],
    ['[2001:db8:1:2::1]:50001', '2001:db8:1:2::9', true],
    ['unknown', '_hidden', true],
    ['unknown', '192.0.2.1', false],
  ])('counts for %s and %s together: %s', (one, other, together) => {
    const { limit } = of(1)
    expect([limit.countRequest(one), limit.countRequest(other) > 0]).toEqual([0, together])
  })

  it('does not run backwards with a clock that is set back', () => {
    const { limit, clock } = of(1)
    clock.at = 60_000
    expect(limit.countRequest(CALLER)).toBe(0)
    clock.at = 0
    expect(limit.countRequest(CALLER)).toBe(60)
  })

  it('is locked no longer where the clock is set back', () => {
    const { limit, clock } = of(1)
    clock.at = 60 * 60_000
    expect(limit.countRequest(CALLER)).toBe(0)
    clock.at = 0
    expect(limit.getWaitSeconds(CALLER)).toBe(60)
    clock.at = 60_000
    expect([limit.getWaitSeconds(CALLER), limit.countRequest(CALLER)]).toEqual([0, 0])
  })

  it('forgets whoever was not seen for long, so that its memory is bounded', () => {
    const { limit } = of(1)
    expect(limit.countRequest(CALLER)).toBe(0)
    for (let n = 0; n < 10_000; n++) limit.countRequest(`10.0.${n >> 8}.${n & 255}`)
    expect(limit.countRequest(CALLER)).toBe(0)
  })
})
