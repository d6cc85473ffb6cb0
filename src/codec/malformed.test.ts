import { describe, expect, it } from 'vitest'
import { malformed, readOrProblem, readPart } from './malformed.ts'

const library = new SyntaxError('of a library')
const readBadly = (): string => malformed('it is not JSON', library)

describe('malformed input that a library found', () => {
  it('is a problem with the error of the library', () => {
    expect(readOrProblem(readBadly)).toEqual({ problem: 'it is not JSON', cause: library })
    expect(readOrProblem(() => malformed('it is too long'))).toEqual({ problem: 'it is too long' })
    expect(readOrProblem(() => 'a result')).toBe('a result')
  })

  it('keeps the error of the library where the place is put before the message', () => {
    expect(readOrProblem(() => readPart('the payload', readBadly))).toEqual({
      problem: 'the payload: it is not JSON',
      cause: library,
    })
  })

  it('is all that is made a problem: a mistake of ours is thrown', () => {
    const mistake = new TypeError('a mistake')
    const fail = (): never => {
      throw mistake
    }
    expect(() => readOrProblem(fail)).toThrow(mistake)
  })
})
