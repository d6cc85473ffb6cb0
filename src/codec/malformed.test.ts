import { describe, expect, it } from 'vitest'
import { malformed, orProblem, within } from './malformed.ts'

const library = new SyntaxError('of a library')
const readBadly = (): string => malformed('it is not JSON', library)

describe('malformed input that a library found', () => {
  it('is a problem with the error of the library', () => {
    expect(orProblem(readBadly)).toEqual({ problem: 'it is not JSON', cause: library })
    expect(orProblem(() => malformed('it is too long'))).toEqual({ problem: 'it is too long' })
    expect(orProblem(() => 'a result')).toBe('a result')
  })

  it('keeps the error of the library where the place is put before the message', () => {
    expect(orProblem(() => within('the payload', readBadly))).toEqual({
      problem: 'the payload: it is not JSON',
      cause: library,
    })
  })

  it('is all that is made a problem: a mistake of ours is thrown', () => {
    const mistake = new TypeError('a mistake')
    const fail = (): never => {
      throw mistake
    }
    expect(() => orProblem(fail)).toThrow(mistake)
  })
})
