/** Tests the credentials of a dry run, also for names of claims that are special to JavaScript. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { exampleOf, queryFor } from '../console/query.ts'

type Path = [string | number | null, ...(string | number | null)[]]

const claimsOf = (...paths: readonly Path[]): string => {
  const configuration = { format: 'dc+sd-jwt', credential_metadata: { claims: paths.map((path) => ({ path })) } }
  return JSON.stringify(exampleOf(configuration, undefined).claims)
}

describe('the example of a configuration', () => {
  afterEach(() => {
    delete (Object.prototype as { polluted?: unknown }).polluted
    delete (Array.prototype as { polluted?: unknown }).polluted
  })

  it('has each claim at its path', () => {
    const claims = claimsOf(['name'], ['address', 'city'], ['degrees', null, 'title'], ['address', 'street'])
    expect(claims).toBe(
      '{"name":"example","address":{"city":"example","street":"example"},"degrees":[{"title":"example"}]}',
    )
  })

  it('leaves out a path that contradicts another', () => {
    expect(claimsOf(['a', null], ['a', 'b'], ['c', 'd'], ['c', 0])).toBe('{"a":["example"],"c":{"d":"example"}}')
  })

  it.each<[Path[], string]>([
    [[['__proto__', 'polluted']], '{"__proto__":{"polluted":"example"}}'],
    [[['__proto__', 'polluted', null]], '{"__proto__":{"polluted":["example"]}}'],
    [[['a', '__proto__', 'polluted']], '{"a":{"__proto__":{"polluted":"example"}}}'],
    [[['constructor', 'prototype', 'polluted']], '{"constructor":{"prototype":{"polluted":"example"}}}'],
    [
      [['constructor'], ['toString'], ['__proto__']],
      '{"constructor":"example","toString":"example","__proto__":"example"}',
    ],
    [
      [
        ['a', null],
        ['a', '__proto__', 'polluted'],
        ['a', 'constructor', 'polluted'],
      ],
      '{"a":["example"]}',
    ],
  ])('keeps to itself with the claims %j', (paths, text) => {
    expect(claimsOf(...paths)).toBe(text)
    expect([({} as { polluted?: unknown }).polluted, ([] as { polluted?: unknown }).polluted]).toEqual([
      undefined,
      undefined,
    ])
  })
})

it('says in a query for an mdoc that its elements are not retained', () => {
  // Node 20 has none.
  vi.stubGlobal('navigator', { languages: ['en'] })
  const claimsOfQuery = (format: string) => queryFor([{ id: 'card', configuration: { format }, paths: [['a', 'b']] }])
  expect(claimsOfQuery('mso_mdoc').credentials[0]?.claims).toEqual([{ path: ['a', 'b'], intent_to_retain: false }])
  expect(claimsOfQuery('dc+sd-jwt').credentials[0]?.claims).toEqual([{ path: ['a', 'b'] }])
  vi.unstubAllGlobals()
})

it('asks for the types of a W3C credential without the one that all of them have', () => {
  vi.stubGlobal('navigator', { languages: ['en'] })
  const typesOf = (...type: string[]) =>
    queryFor([{ id: 'card', configuration: { format: 'jwt_vc_json', credential_definition: { type } }, paths: [] }])
      .credentials[0]?.meta
  expect(typesOf('VerifiableCredential', 'StudentCard')).toEqual({ type_values: [['StudentCard']] })
  const base = 'https://www.w3.org/2018/credentials#VerifiableCredential'
  expect(typesOf('VerifiableCredential')).toEqual({ type_values: [[base]] })
})
