import { describe, expect, it } from 'vitest'
import { preferredType } from './accept.ts'

const [JSON_TYPE, JWT] = ['application/json', 'application/jwt'] as const

describe('the media type a client prefers', () => {
  it.each([
    [undefined, JSON_TYPE],
    ['', JSON_TYPE],
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    ['application/json', JSON_TYPE],
    ['application/jwt', JWT],
    ['Application/JWT', JWT],
    ['application/jwt, application/json', JWT],
    ['application/json, application/jwt', JSON_TYPE],
    ['application/json;q=0.9, application/jwt', JWT],
    ['application/jwt;q=0.9, application/json', JSON_TYPE],
    ['application/jwt;q=0.9, */*;q=0.8', JWT],
    ['application/jwt, */*', JWT],
    ['application/json, */*', JSON_TYPE],
    ['application/jwt;q=0.5, */*', JSON_TYPE],
    ['application/jwt;q=0', JSON_TYPE],
    ['application/jwt;q=0, */*', JSON_TYPE],
    ['application/json;q=0, application/*', JWT],
    ['application/jwt ; v=1 ; Q=1.000', JWT],
    ['application/jwt;q=2', JSON_TYPE],
    ['application/jwt;q=-1', JSON_TYPE],
    ['application/jwt;q=a', JSON_TYPE],
    ['text/html', JSON_TYPE],
    ['application/jwtx', JSON_TYPE],
    [',,;;,', JSON_TYPE],
  ])('of %j is %s', (accept, type) => {
    expect(preferredType(accept, [JSON_TYPE, JWT])).toBe(type)
  })
})
