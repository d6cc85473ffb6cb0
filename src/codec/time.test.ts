import fc from 'fast-check'
import { expect, it } from 'vitest'
import { epochSeconds, isCalendarDay, isCalendarTime } from './time.ts'

/** Tests by Date alone whether a time exists: a day that does not becomes another, or none. */
function existsInDate(time: string): boolean {
  const date = new Date(time)
  return !Number.isNaN(date.getTime()) && `${date.toISOString().slice(0, 19)}Z` === time
}

const digits = (count: number, max: number) =>
  fc.integer({ min: 0, max }).map((number) => String(number).padStart(count, '0'))

it('rounds a time down to seconds', () => {
  expect([epochSeconds(1999), epochSeconds(new Date(-1))]).toEqual([1, -1])
})

it('finds the days and times of the calendar as Date writes them', () => {
  const day = fc.tuple(digits(4, 9999), digits(2, 13), digits(2, 32)).map((parts) => parts.join('-'))
  const clock = fc.tuple(digits(2, 25), digits(2, 61), digits(2, 61)).map((parts) => parts.join(':'))
  fc.assert(
    fc.property(day, clock, (date, time) => {
      expect([date, isCalendarDay(date)]).toEqual([date, existsInDate(`${date}T00:00:00Z`)])
      expect([date, time, isCalendarTime(`${date}T${time}Z`)]).toEqual([date, time, existsInDate(`${date}T${time}Z`)])
    }),
    { numRuns: 2000 },
  )
})

it.each([
  ['0000-02-29', true],
  ['0004-02-29', true],
  ['0100-02-29', false],
  ['1900-02-29', false],
  ['2000-02-29', true],
  ['2026-2-28', false],
  ['2026-02-28\n', false],
  ['+02026-02-28', false],
])('%j is a day: %s', (text, exists) => expect(isCalendarDay(text)).toBe(exists))
