import { describe, expect, it } from 'vitest'
import { acceptsGzip, preferredType } from './accept.ts'

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

describe('whether a client takes gzip', () => {
  it.each([
    ['gzip', true],
    ['GZIP', true],
    ['br, gzip;q=0.1', true],
    ['deflate, gzip', true],
    ['*', true],
    ['*;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip;q=0, *', false],
    ['gzip;q=0.000', false],
    ['gzip;q=a', false],
    ['*;q=0', false],
    ['identity', false],
    ['x-gzip', false],
    ['br, deflate', false],
    ['', false],
    [undefined, false],
  ])('by %j: %s', (header, taken) => {
    expect(acceptsGzip(header)).toBe(taken)
  })
})
