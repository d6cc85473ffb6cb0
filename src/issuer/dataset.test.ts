import { describe, expect, it } from 'vitest'
import { configurationOf } from '../../test/support/configuration.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { refuseUnissuedClaims } from './configuration-rules.ts'
import { refuseUnfittingDataset } from './dataset.ts'

const CARD = { type: ['VerifiableCredential'], '@context': ['https://www.w3.org/ns/credentials/v2'] }
const OLDER_CARD = { type: ['VerifiableCredential'], '@context': ['https://www.w3.org/2018/credentials/v1'] }
const sdJwtVc = configurationOf({ format: 'dc+sd-jwt', vct: 'https://example.org/card' })
const mdoc = configurationOf({ format: 'mso_mdoc', doctype: 'org.example.card' })
const w3c = configurationOf({ format: 'jwt_vc_json-ld', credential_definition: CARD })

describe('a dataset', () => {
  const many = (count: number) => ({ many: Array<Json>(count - 1).fill(1) })

  it('may have as many values as its own format takes', () => {
    refuseUnfittingDataset({ 'org.example': many(2999) }, [mdoc])
    refuseUnfittingDataset({ 'org.example': many(2999), ...many(2000) }, [mdoc, sdJwtVc])
    refuseUnfittingDataset({ credentialSubject: many(2000) }, [w3c])
  })

  it.each([5, null, ['a'], {}])('has no sub that is %j in an SD-JWT VC', (sub) => {
    const why = /^credential_dataset(\.credentialSubject)?\.sub: it must be a string$/
    expect(() => refuseUnfittingDataset({ sub }, [sdJwtVc])).toThrow(why)
    expect(() => refuseUnfittingDataset({ credentialSubject: { sub } }, [sdJwtVc])).toThrow(why)
    refuseUnfittingDataset({ sub: 'ada', inside: { sub } }, [sdJwtVc])
  })

  const demanding = (configuration: object, ...paths: (string | null)[][]) =>
    configurationOf({
      ...configuration,
      credential_metadata: { claims: paths.map((path) => ({ path, mandatory: true })) },
    })

  it.each([
    ['an SD-JWT VC', sdJwtVc, { a: 1 }, [['iss'], ['exp'], ['vct'], ['status'], ['cnf', 'jwk']]],
    [
      'a W3C credential',
      w3c,
      { credentialSubject: { a: 1 } },
      [['issuer'], ['validUntil'], ['credentialSubject', 'a']],
    ],
  ])('needs no mandatory claim that the issuer writes into %s', (_, { posted }, dataset, paths) => {
    refuseUnfittingDataset(dataset, [demanding(posted, ...paths)])
    refuseUnissuedClaims(demanding(posted, ...paths))
    expect(() => refuseUnfittingDataset(dataset, [demanding(posted, ...paths, ['b'])])).toThrow(
      'credential_dataset.b: this claim is mandatory in a credential configuration',
    )
  })

  it('has a mandatory claim that is not null, in an array once at least', () => {
    const refused = 'credential_dataset.a: this claim is mandatory in a credential configuration, and null says nothing'
    const take = (dataset: JsonObject, path: (string | null)[]) => () =>
      refuseUnfittingDataset(dataset, [demanding(sdJwtVc.posted, path)])
    expect(take({ a: null }, ['a'])).toThrow(refused)
    for (const value of ['', 0, false, {}]) expect(take({ a: value }, ['a'])).not.toThrow()
    expect(take({ a: [{ b: null }] }, ['a', null, 'b'])).toThrow('null says nothing')
    expect(take({ a: [{ b: null }, { b: 1 }] }, ['a', null, 'b'])).not.toThrow()
    expect(take({ a: 1, b: null }, ['a'])).not.toThrow()
  })

  it.each<[string, string[], CredentialConfiguration, object]>([
    ['an SD-JWT VC', ['jti'], sdJwtVc.posted, {}],
    ['an SD-JWT VC', ['nbf'], sdJwtVc.posted, {}],
    ['an SD-JWT VC', ['aud'], sdJwtVc.posted, {}],
    ['an SD-JWT VC', ['cnf', 'kid'], sdJwtVc.posted, {}],
    ['an SD-JWT VC', ['aka_vcts'], sdJwtVc.posted, { aka_vcts: ['https://example.org/other'] }],
    ['an SD-JWT VC without a status', ['status'], { ...sdJwtVc.posted, revocable: false }, { revocable: true }],
    ['a W3C credential', ['b'], w3c.posted, {}],
    ['a W3C credential', ['issuer', 'id'], w3c.posted, {}],
    ['a W3C credential of VCDM 2.0', ['issuanceDate'], w3c.posted, { credential_definition: OLDER_CARD }],
    ['a W3C credential of VCDM 2.0', ['expirationDate'], w3c.posted, { credential_definition: OLDER_CARD }],
    ['a W3C credential', ['credentialStatus', 'id'], w3c.posted, {}],
    ['a W3C credential without entries', ['credentialStatus'], w3c.posted, { status: 'bitstring' }],
    ['a W3C credential as a JWT', ['validFrom'], { format: 'jwt_vc_json', credential_definition: OLDER_CARD }, {}],
  ])('of %s never has %j, which is then not mandatory', (_, path, posted, change) => {
    const configuration = demanding(posted, path)
    const why = /^credential_metadata\.claims\[0\]: neither a dataset nor the issuer gives these credentials /
    expect(() => refuseUnissuedClaims(configuration)).toThrow(why)
    expect(() => refuseUnfittingDataset({ credentialSubject: { a: 1 } }, [configuration])).toThrow(
      'this claim is mandatory',
    )
    if (Object.keys(change).length > 0) refuseUnissuedClaims(demanding({ ...posted, ...change }, path))
  })

  it.each([
    ['an mdoc', mdoc, { 'org.example': many(3000) }, 'credential_dataset: it holds more than 3000 values'],
    ['an SD-JWT VC', sdJwtVc, many(2001), 'credential_dataset: it holds more than 2000 claims'],
    [
      'a W3C credential',
      w3c,
      { credentialSubject: many(2001) },
      'credential_dataset.credentialSubject: it holds more than 2000 claims',
    ],
  ])('is refused where it has more than %s takes', (_, configuration, dataset, why) => {
    expect(() => refuseUnfittingDataset(dataset, [configuration])).toThrow(why)
  })
})
