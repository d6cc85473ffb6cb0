import { describe, expect, it } from 'vitest'
import { jwtTimeProblem, type TimeRule } from './jwt-checks.ts'

const NOW = 1_700_000_000
const clock = { now: new Date(NOW * 1000), clockSkewSeconds: 60 }
const all: TimeRule = { requires: [] }

describe('the times of a JWT', () => {
  it.each([
    ['exp a moment before the skew is over', { exp: NOW - 59.9 }, undefined],
    ['exp when the skew is over', { exp: NOW - 60 }, /expired/],
    ['iat at the end of the skew', { iat: NOW + 60 }, undefined],
    ['iat beyond the skew', { iat: NOW + 60.1 }, /future/],
    ['nbf at the end of the skew', { nbf: NOW + 60 }, undefined],
    ['nbf beyond the skew', { nbf: NOW + 60.1 }, /not valid yet/],
    ['an exp that is null', { exp: null }, /exp must be/],
    ['an iat that is a text', { iat: `${NOW}` }, /iat must be/],
    ['no times', {}, undefined],
  ])('%s', (_, payload, problem) => {
    const result = jwtTimeProblem(payload, all, clock)
    if (problem === undefined) expect(result).toBeUndefined()
    else expect(result).toMatch(problem)
  })

  it('have no skew for the age', () => {
    const rule = { ...all, maxAgeSeconds: 300 }
    expect(jwtTimeProblem({ iat: NOW - 300 }, rule, clock)).toBeUndefined()
    expect(jwtTimeProblem({ iat: NOW - 300.1 }, rule, clock)).toMatch(/too old/)
    expect(jwtTimeProblem({ iat: NOW - 300.1 }, all, clock)).toBeUndefined()
  })

  it('count wherever they are, and must be there where the rule requires them', () => {
    const rule: TimeRule = { requires: ['iat'] }
    expect(jwtTimeProblem({ iat: NOW, exp: 1 }, rule, clock)).toMatch(/expired/)
    expect(jwtTimeProblem({ iat: NOW, nbf: NOW + 61 }, rule, clock)).toMatch(/not valid yet/)
    expect(jwtTimeProblem({ exp: NOW }, rule, clock)).toMatch(/iat must be/)
  })
})
