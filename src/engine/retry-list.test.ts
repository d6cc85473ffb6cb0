import { expect, it } from 'vitest'
import { createRetryList } from './retry-list.ts'

const HOUR = 3_600_000

it('keeps the time of the first failure, also where there was no time for the next attempt', () => {
  const list = createRetryList(15_000)
  expect([list.addFailure('a', 1000), list.addFailure('a', 2000)]).toEqual([true, false])
  list.postpone('a', 3000)
  expect([list.getFirstFailure('a'), list.isWaiting('a', 3000)]).toEqual([1000, true])
  list.postpone('b', 3000)
  expect([list.getFirstFailure('b'), list.isWaiting('b', 3000)]).toEqual([3000, false])
})

it('lists first what was tried longest ago', () => {
  const list = createRetryList(15_000)
  for (const id of ['a', 'b', 'c', 'a']) list.addFailure(id, 1000)
  expect(list.listDue(HOUR)).toEqual(['b', 'c', 'a'])
})

it('pauses for longer and longer, and no longer than it was told', () => {
  const list = createRetryList(15_000)
  const pauses = Array.from({ length: 6 }, () => {
    list.addFailure('a', 0)
    let ms = 0
    while (list.isWaiting('a', ms)) ms += 500
    return ms
  })
  expect(pauses).toEqual([...pauses].sort((one, other) => one - other))
  expect([(pauses[0] ?? 0) < (pauses[1] ?? 0), pauses.at(-1)]).toEqual([true, 15_000])
})
