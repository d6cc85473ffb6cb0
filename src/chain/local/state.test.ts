import { expect, it } from 'vitest'
import { partOfLimit } from '../../../test/support/processor-time.ts'
import { createState } from './state.ts'

const MANY = 50_000

it('a value is found at any block, however many versions came after it', async () => {
  const { storage } = createState()
  const value = (number: number): Uint8Array => Uint8Array.of(number % 251)
  // Block 3 is the first, and every third has a version.
  for (let number = 1; number <= MANY; number++) storage.add('key', 3 * number, value(number))
  expect(storage.getAt('key', 2)).toBeUndefined()
  expect(storage.getAt('another', 3 * MANY)).toBeUndefined()
  const taken = await partOfLimit(5000, () => {
    for (let block = 3; block < 3 * MANY + 3; block++) {
      if (storage.getAt('key', block)?.[0] !== Math.floor(block / 3) % 251)
        expect.fail(`block ${block} has another value`)
    }
  })
  // A step for each version would take a minute.
  expect(taken).toBeLessThan(1)
})
