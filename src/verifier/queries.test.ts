import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../codec/json.ts'
import { supportedFormats } from '../credential/formats.ts'
import { ProtocolError } from '../protocol/error.ts'
import { readNewQuery } from './queries.ts'

const degree: JsonObject = {
  id: 'degree',
  format: 'jwt_vc_json-ld',
  meta: { type_values: [['VerifiableCredential', 'DegreeCredential']] },
  claims: [{ id: 'name', path: ['credentialSubject', 'name'] }],
}

function withCredential(change: JsonObject): JsonObject {
  return { credentials: [{ ...degree, ...change }] }
}

function refusal(query: unknown): string {
  try {
    readNewQuery(query)
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError)
    expect((error as ProtocolError).code).toBe('invalid_request')
    return (error as ProtocolError).message
  }
  return 'accepted'
}

const first = 'dcql_query.credentials[0]'

describe('a query of ours', () => {
  it.each([...supportedFormats])('may ask for the format %s', (format) => {
    expect(refusal(withCredential({ format }))).toBe('accepted')
  })

  const supported = 'supported: jwt_vc_json-ld, vc+sd-jwt'
  it.each<[JsonObject, string]>([
    [{ format: 'jwt_vc_json' }, `${first}.format: jwt_vc_json is not yet supported; ${supported}`],
    [{ format: 'dc+sd-jwt' }, `${first}.format: dc+sd-jwt is not yet supported; ${supported}`],
    [{ format: 'mso_mdoc' }, `${first}.format: mso_mdoc is not yet supported; ${supported}`],
    [{ format: 'ldp_vc' }, `${first}.format: must be a known credential format; ${supported}`],
    [{ format: 'constructor' }, `${first}.format: must be a known credential format; ${supported}`],
    [{ format: 7 }, `${first}.format: must be a known credential format; ${supported}`],
    [{ trusted_authorities: [] }, `${first}.trusted_authorities: not yet supported; leave it out`],
    [{ meta: { type_values: [] } }, `${first}.meta.type_values: must be a non-empty array`],
    [{ meta: { type_values: ['A'] } }, `${first}.meta.type_values[0]: must be a non-empty array`],
    [{ meta: { type_values: [['A'], []] } }, `${first}.meta.type_values[1]: must be a non-empty array`],
    [{ meta: { type_values: [['A', 7]] } }, `${first}.meta.type_values[0][1]: must be a non-empty string`],
    [{ meta: { type_values: [['']] } }, `${first}.meta.type_values[0][0]: must be a non-empty string`],
    [{ meta: { vct_values: ['A'] } }, `${first}.meta.vct_values: does not go with this format; use type_values`],
    [{ meta: { doctype_value: 'A' } }, `${first}.meta.doctype_value: does not go with this format; use type_values`],
  ])('is refused for what we cannot check: %#', (change, expected) => {
    expect(refusal(withCredential(change))).toBe(expected)
  })

  it('is refused for all that it lacks', () => {
    expect(refusal({ credentials: [{ id: 'a' }] })).toBe(
      `${first}.format: must be a known credential format; ${supported}; ${first}.meta: must be an object; it may be empty`,
    )
  })

  const claim = `${first}.claims[0]`
  it.each<[Json, string]>([
    [{ path: [null] }, `${claim}.path[0]: must be a string, since a credential is an object`],
    [{ path: [0, 'a'] }, `${claim}.path[0]: must be a string, since a credential is an object`],
    [{ path: ['a', '_sd'] }, `${claim}.path[1]: is a member of SD-JWT itself, never a claim`],
    [{ path: ['_sd_alg'] }, `${claim}.path[0]: is a member of SD-JWT itself, never a claim`],
    [{ path: ['a', 0, '...'] }, `${claim}.path[2]: is a member of SD-JWT itself, never a claim`],
  ])('is refused for a claim that no credential has: %#', (value, expected) => {
    expect(refusal(withCredential({ claims: [value] }))).toBe(expected)
  })

  const contradicts = `${first}.claims[1].path: contradicts ${claim}, so that no credential can have both; remove one`
  it.each<[Json, Json, string]>([
    [{ path: ['a', 'b'] }, { path: ['a', 0] }, contradicts],
    [{ path: ['a', null, 'b'] }, { path: ['a', 'c'] }, contradicts],
    [{ path: ['a'], values: ['x'] }, { path: ['a', 'b'] }, contradicts],
    [{ path: ['a', 'b'] }, { path: ['a'], values: ['x'] }, contradicts],
    [{ path: ['a', 0] }, { path: ['a', null] }, 'accepted'],
    [{ path: ['a', '0'] }, { path: ['b', 0] }, 'accepted'],
    [{ path: ['a', 'b'], values: ['x'] }, { path: ['a'] }, 'accepted'],
  ])('is refused for claims that no credential has together: %#', (one, other, expected) => {
    expect(refusal(withCredential({ claims: [one, other] }))).toBe(expected)
  })

  it('may have contradictions that claim sets make alternatives', () => {
    const claims = [
      { id: 'a', path: ['a'], values: ['x'] },
      { id: 'b', path: ['a', 'b'] },
    ]
    expect(refusal(withCredential({ claims, claim_sets: [['a'], ['b']] }))).toBe('accepted')
  })
})
