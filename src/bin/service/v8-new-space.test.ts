/** The rule by which the young generation grows once, and again after it has become small. */
import { expect, it } from 'vitest'
import { createSizeKeeper } from './v8-new-space.ts'

it('grows to 4 MB at once and no further, and again after V8 has made it small', () => {
  let megabytes = 1
  const factors: number[] = []
  const keepSize = createSizeKeeper(
    () => megabytes * 2 ** 20,
    (factor) => factors.push(factor),
  )
  keepSize()
  keepSize()
  expect(factors).toEqual([4])
  megabytes = 4
  keepSize()
  keepSize()
  expect(factors).toEqual([4, 1])
  megabytes = 1
  keepSize()
  expect(factors).toEqual([4, 1, 4])
})
