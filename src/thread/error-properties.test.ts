import { expect, it } from 'vitest'
import { readErrorProperties, restoreError } from './error-properties.ts'

it('sends an error to another thread with its properties, and those of its causes', () => {
  const disk = Object.assign(new Error('the disk is full'), { code: 'ENOSPC' })
  const error = new TypeError('not written', { cause: new Error('no commit', { cause: disk }) })
  const restored = restoreError(structuredClone(readErrorProperties(error)))
  expect(restored).toMatchObject({ name: 'TypeError', message: 'not written' })
  expect(restored.cause).toBeInstanceOf(Error)
  expect(restored.cause).toMatchObject({ message: 'no commit', cause: { message: 'the disk is full', code: 'ENOSPC' } })
  expect(Object.keys(restored)).not.toContain('cause')
})

it('leaves out a cause that is not an error, which might not be sent', () => {
  const restored = restoreError(structuredClone(readErrorProperties(new Error('no', { cause: () => 'text' }))))
  expect(restored.cause).toBeUndefined()
})

it('ends with the causes of an error that is a cause of itself', () => {
  const error = new Error('around')
  error.cause = error
  expect(restoreError(structuredClone(readErrorProperties(error)))).toMatchObject({ cause: { message: 'around' } })
})
