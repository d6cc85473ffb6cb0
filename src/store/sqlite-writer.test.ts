import { expect, it, vi } from 'vitest'
import { makeAsync } from './sqlite-writer.ts'

it('the function runs at once with its arguments, and its result is that of the promise', async () => {
  const add = vi.fn((one: number, other: number) => one + other)
  const result = makeAsync(add)(1, 2)
  expect(add.mock.calls).toEqual([[1, 2]])
  expect(result).toBeInstanceOf(Promise)
  expect(await result).toBe(3)
})

it('the promise rejects with the error that the function throws, and the call does not throw', async () => {
  const error = new Error('no')
  const fail = makeAsync((): never => {
    throw error
  })
  const result = fail()
  await expect(result).rejects.toBe(error)
})
