/** The purposes of secrets. */
import { expect, it } from 'vitest'
import { secretPurposes } from './context.ts'

it('derives no two secrets for the same purpose, since they would be equal', () => {
  const purposes = Object.values(secretPurposes)
  expect(new Set(purposes).size).toBe(purposes.length)
})
