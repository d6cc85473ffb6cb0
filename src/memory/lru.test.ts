import { expect, it } from 'vitest'
import { lru } from './lru.ts'

it('keeps the values that were asked for or set last', () => {
  const values = lru<string, number>(2)
  values.set('a', 1)
  values.set('b', 2)
  expect(values.get('a')).toBe(1)
  values.set('c', 3)
  expect(['a', 'b', 'c'].map((key) => values.get(key))).toEqual([1, undefined, 3])
  values.set('a', 4)
  values.set('d', 5)
  expect(['a', 'c', 'd'].map((key) => values.get(key))).toEqual([4, undefined, 5])
})

it('gives nothing that was never set', () => {
  expect(lru<string, number>(1).get('a')).toBe(undefined)
})
