import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { configurationOf } from '../../../test/support/configuration.ts'
import { newBareSigner, orderBinding, orderFor } from '../../../test/support/order.ts'
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf } from '../../codec/digest.ts'
import type { Json, JsonObject } from '../../codec/json.ts'
import { readJws, writeJws } from '../../codec/jws.ts'
import { MalformedError } from '../../codec/malformed.ts'
import { concealClaims, readSdJwt } from '../../codec/sd-jwt.ts'
import type { Signer } from '../../keys/signer.ts'
import { ProtocolError } from '../../protocol/error.ts'
import { w3cSdJwt } from './index.ts'

const V2 = 'https://www.w3.org/ns/credentials/v2'
const V1 = 'https://www.w3.org/2018/credentials/v1'
const configuration = {
  format: 'jwt_vc_json-ld',
  credential_definition: { '@context': [V2], type: ['VerifiableCredential', 'StudentCard'] },
}
const claims = { name: 'Ada', degrees: ['BSc', { title: 'MSc', year: 1835 }], address: { city: 'London' } }

describe('W3C credentials as SD-JWT', () => {
  let signer: Signer
  beforeAll(async () => {
    signer = await newBareSigner()
  })

  const orderOf = (more: JsonObject = {}, credentialSubject: JsonObject = claims) =>
    orderFor({ ...configuration, ...more }, { credentialSubject }, signer)

  const issue = (more: JsonObject = {}) => w3cSdJwt.issue(orderOf(more), signer, randomBytes)

  /** A credential with any header and payload, as somebody else might issue it. */
  const foreign = async (payload: JsonObject, header: JsonObject = { typ: 'vc+sd-jwt', alg: 'ES256' }) =>
    `${await writeJws(header, payload, (data) => signer.sign(data))}~`

  describe('a credential', () => {
    it('has the members of VCDM 2.0 and of JWT at the root of its payload', async () => {
      const { jws } = readSdJwt(await issue())
      expect(jws.header).toEqual({ typ: 'vc+sd-jwt', alg: 'ES256', x5c: [] })
      expect(jws.payload).toEqual({
        '@context': [V2],
        type: ['VerifiableCredential', 'StudentCard'],
        issuer: 'https://issuer.example',
        validFrom: '2026-06-01T12:00:00Z',
        validUntil: '2027-06-01T00:00:00Z',
        credentialSubject: { _sd: expect.arrayContaining([expect.any(String)]) as Json },
        _sd_alg: 'sha-256',
        iss: 'https://issuer.example',
        iat: Date.parse('2026-06-01T12:00:00Z') / 1000,
        exp: Date.parse('2027-06-01T00:00:00Z') / 1000,
        cnf: { jwk: signer.jwk },
      })
    })

    it('has the members of VCDM 1.1 as well, under its context', async () => {
      const definition = { '@context': [V1], type: ['VerifiableCredential'] }
      const { jws } = readSdJwt(await issue({ credential_definition: definition }))
      expect(jws.payload).toMatchObject({
        issuanceDate: '2026-06-01T12:00:00Z',
        expirationDate: '2027-06-01T00:00:00Z',
      })
    })

    it('hides nothing under selective_disclosure none, and ends in a tilde all the same', async () => {
      const credential = await issue({ selective_disclosure: 'none' })
      expect(credential.split('~')).toEqual([credential.slice(0, -1), ''])
      expect(readJws(credential.slice(0, -1)).payload).toMatchObject({ credentialSubject: claims })
      expect(readJws(credential.slice(0, -1)).payload).not.toHaveProperty('_sd_alg')
      const presentation = await w3cSdJwt.present(credential, [], orderBinding, signer)
      expect(w3cSdJwt.read(presentation)).toMatchObject({
        claims: { credentialSubject: claims },
        disclosuresProblem: undefined,
      })
    })

    it.each<[string, Json, JsonObject]>([
      ['a name', [['credentialSubject', 'name']], { degrees: claims.degrees, address: claims.address }],
      ['an element', [['credentialSubject', 'degrees', 0]], { ...claims, degrees: [claims.degrees[1] as Json] }],
      ['a nested name', [['credentialSubject', 'address', 'city']], { ...claims, address: {} }],
      [
        'a name in one element',
        [['credentialSubject', 'degrees', 1, 'year']],
        { ...claims, degrees: ['BSc', { title: 'MSc' }] },
      ],
      ['every element', [['credentialSubject', 'degrees', null]], { ...claims, degrees: [] }],
      [
        'a name in every element',
        [['credentialSubject', 'degrees', null, 'year']],
        { ...claims, degrees: ['BSc', { title: 'MSc' }] },
      ],
      ['what is not there', [['credentialSubject', 'nothing']], claims],
    ])('hides %s, and what it may not hide stands in the clear', async (_, paths, shown) => {
      const credential = await issue({ selective_disclosure: paths })
      const evidence = w3cSdJwt.read(await w3cSdJwt.present(credential, [], orderBinding, signer))
      expect(evidence.claims.credentialSubject).toEqual(shown)
      expect(w3cSdJwt.readHeld(credential).claims.credentialSubject).toEqual(claims)
    })
  })

  it('knows a credential that is not what was ordered', async () => {
    const credential = await issue()
    expect(w3cSdJwt.matchesOrder(orderOf(), credential)).toBe(true)
    expect(w3cSdJwt.matchesOrder(orderOf({}, { ...claims, name: 'Bob' }), credential)).toBe(false)
    expect(w3cSdJwt.matchesOrder(orderOf(), credential.split('~').toSpliced(1, 1).join('~'))).toBe(false)
    expect(() => w3cSdJwt.matchesOrder(orderOf(), 'x')).toThrow(MalformedError)
  })

  describe('a credential of somebody else', () => {
    it('may be a plain JWT, which is presented as it is', async () => {
      const credential = { '@context': V2, type: 'VerifiableCredential', credentialSubject: claims }
      const jwt = (await foreign(credential)).slice(0, -1)
      expect(() => w3cSdJwt.read(jwt)).toThrow(/no tilde/)
      expect(w3cSdJwt.readHeld(jwt).claims).toEqual(credential)
      const presentation = await w3cSdJwt.present(jwt, [], orderBinding, signer)
      expect(presentation.split('~').slice(0, -1)).toEqual([jwt])
      expect(w3cSdJwt.read(presentation).holder).toMatchObject({ coversPresentation: true })
    })

    it('may carry the credential in vc', async () => {
      const vc = {
        type: ['VerifiableCredential'],
        issuer: { id: 'did:example:1' },
        credentialSubject: claims,
        expirationDate: '2030-01-01T00:00:00Z',
      }
      const evidence = w3cSdJwt.read(await foreign({ vc, iss: 'did:example:1', nbf: 1 }))
      expect(evidence.claims).toEqual(vc)
      expect(evidence.issuer.identifiers).toEqual(['did:example:1', 'did:example:1'])
      expect(evidence.validity).toEqual({
        notBefore: [{ member: 'nbf', at: new Date(1000) }],
        notAfter: [{ member: 'expirationDate', at: new Date('2030-01-01T00:00:00Z') }],
      })
    })

    it('may have any names in vc, also those of a JWT', async () => {
      const vc = { credentialSubject: {}, status: 'x', sub: 'y' }
      expect(w3cSdJwt.read(await foreign({ vc })).claims).toEqual(vc)
    })

    it('may have a member vc beside its own subject, which is a claim like others', async () => {
      const payload = { vc: { type: 'Other', issuer: 'x' }, issuer: 'y', credentialSubject: {} }
      expect(w3cSdJwt.read(await foreign(payload))).toMatchObject({ claims: payload, issuer: { identifiers: ['y'] } })
    })

    it('is the one in vc, also when the holder discloses a subject beside it', async () => {
      const vc = { type: ['Inner'], issuer: 'x', credentialSubject: { name: 'Ada' } }
      const outer = { vc, type: ['Outer'], issuer: 'y', credentialSubject: { name: 'Grace' } }
      const hidesSubject = (place: readonly unknown[]) => place.join() === 'credentialSubject'
      const { payload, disclosures } = concealClaims(outer, hidesSubject, randomBytes)
      const hidden = await foreign(payload)
      expect(w3cSdJwt.read(hidden)).toMatchObject({ claims: vc, disclosuresProblem: undefined })
      expect(w3cSdJwt.read(`${hidden}${disclosures.join('~')}~`)).toMatchObject({
        claims: vc,
        disclosuresProblem: 'credentialSubject must not be selectively disclosable',
      })
      expect(w3cSdJwt.read(await foreign(outer)).claims).toEqual({
        vc,
        type: ['Outer'],
        issuer: 'y',
        credentialSubject: { name: 'Grace' },
      })
    })

    const protocol = ['iss', 'iat', 'exp', 'nbf', 'jti', 'sub', 'aud', 'cnf', 'status']
    it('has claims beside those of JWT and SD-JWT, also where its disclosures are bad', async () => {
      const members = Object.fromEntries([...protocol, 'name'].map((name) => [name, 1]))
      const credential = await foreign({ ...members, _sd: [], _sd_alg: 'sha-256', credentialSubject: {} })
      for (const text of [credential, `${credential}${toBase64url('["salt","role","professor"]')}~`]) {
        expect(w3cSdJwt.read(text).claims).toEqual({ name: 1, credentialSubject: {} })
      }
    })

    const shown = [
      ...[...protocol, '@context', 'type', 'issuer', 'validFrom', 'validUntil', 'issuanceDate', 'expirationDate'],
      ...['credentialStatus', 'credentialSchema', 'relatedResource'],
    ]
    it.each(shown)('has no %s that could be hidden, nor part of it, at the root or in vc', async (name) => {
      for (const place of [[name], [name, 'x'], ['vc', name], ['vc', name, 'x']]) {
        const claims = { [name]: { x: 1 }, vc: { [name]: { x: 1 } } }
        const { payload, disclosures } = concealClaims(claims, (each) => each.join() === place.join(), randomBytes)
        const credential = `${await foreign(payload)}${disclosures.join('~')}~`
        expect(w3cSdJwt.read(credential).disclosuresProblem).toBe(
          `${place.join('.')} must not be selectively disclosable`,
        )
      }
    })

    it('has no vc that could be hidden as one, and may hide other members in it', async () => {
      const concealed = async (place: string) => {
        const claims = { vc: { credentialSubject: { name: 'Ada' } } }
        const { payload, disclosures } = concealClaims(claims, (each) => each.join('.') === place, randomBytes)
        return w3cSdJwt.read(`${await foreign(payload)}${disclosures.join('~')}~`).disclosuresProblem
      }
      expect(await concealed('vc')).toBe('vc must not be selectively disclosable')
      expect(await concealed('vc.credentialSubject')).toBe(undefined)
      expect(await concealed('vc.credentialSubject.name')).toBe(undefined)
    })

    it('is not taken by a wallet when it is of another type', async () => {
      for (const header of [{ typ: 'dc+sd-jwt' }, { typ: 'vc+jwt' }, {}]) {
        const credential = await foreign({ credentialSubject: {} }, { alg: 'ES256', ...header })
        expect(() => w3cSdJwt.readHeld(credential)).toThrow(MalformedError)
      }
      const sdJwtVc = await foreign({ vct: 'urn:card' })
      expect(() => w3cSdJwt.readHeld(sdJwtVc)).toThrow(MalformedError)
    })

    it('is not taken by a wallet when a disclosure is not its own', async () => {
      const credential = `${await issue()}${toBase64url('["salt","role","professor"]')}~`
      expect(() => w3cSdJwt.readHeld(credential)).toThrow(/not referred to/)
    })

    it.each<[string, JsonObject, readonly string[]]>([
      ['both names', { iss: 'a', issuer: 'b' }, ['a', 'b']],
      ['an issuer that is an object', { issuer: { id: 'a', name: 'A' } }, ['a']],
      ['an issuer without a name', { issuer: { name: 'A' } }, ['']],
      ['names that are not texts', { iss: 1, issuer: ['a'] }, ['', '']],
      ['no name', {}, ['']],
    ])('names its issuer with %s', async (_, payload, identifiers) => {
      expect(w3cSdJwt.read(await foreign(payload)).issuer.identifiers).toEqual(identifiers)
    })

    it.each<[string, JsonObject]>([
      ['text', { exp: '1' }],
      ['no date', { validUntil: '2030-13-01T00:00:00Z' }],
      ['a date without a time', { validUntil: '2030-01-01' }],
      ['a time without a zone', { validUntil: '2030-01-01T00:00:00' }],
      ['a time of another language', { expirationDate: 'Jan 1 2030 00:00 GMT' }],
      ['null', { validUntil: null }],
    ])('has no known end when that is %s', async (_, payload) => {
      const { validity } = w3cSdJwt.read(await foreign(payload))
      expect(validity.notAfter).toEqual([{ member: Object.keys(payload)[0], at: undefined }])
    })

    it.each<[string, JsonObject, JsonObject | undefined]>([
      ['a list', { status: { status_list: { idx: 1 } } }, { status_list: { idx: 1 } }],
      ['no list, beside that of the W3C', { credentialStatus: { type: 'X' } }, undefined],
      ['null', { status: null }, {}],
      ['text', { status: 'VALID' }, {}],
      ['null beside the list of the W3C', { status: null, credentialStatus: { type: 'X' } }, {}],
      ['nothing', {}, undefined],
    ])('has a status that is %s', async (_, payload, status) => {
      expect(w3cSdJwt.read(await foreign(payload)).status).toEqual(status)
    })

    it('cannot lead through its disclosures deeper than a stack is', async () => {
      const wide = (text: string) => `${'['.repeat(28)}{"...":"${digestOf(text)}"}${']'.repeat(28)}`
      const disclosures = [toBase64url('["s","end"]')]
      while (disclosures.length < 1900) disclosures.push(toBase64url(`["s",${wide(disclosures.at(-1) ?? '')}]`))
      const subject = { deep: [{ '...': digestOf(disclosures.at(-1) ?? '') }] }
      const evidence = w3cSdJwt.read(
        [(await foreign({ credentialSubject: subject })).slice(0, -1), ...disclosures, ''].join('~'),
      )
      expect(evidence.disclosuresProblem).toMatch(/deeper than 32/)
    })
  })

  describe('a configuration', () => {
    const definition = configuration.credential_definition
    it.each<[string, JsonObject]>([
      ['credential_definition', { credential_definition: 'x' }],
      ['credential_definition.@context', { credential_definition: { ...definition, '@context': [] } }],
      ['credential_definition.@context', { credential_definition: { ...definition, '@context': V2 } }],
      ['credential_definition.@context', { credential_definition: { ...definition, '@context': [{}] } }],
      ['credential_definition.type', { credential_definition: { ...definition, type: undefined as unknown as Json } }],
      ['credential_definition.type', { credential_definition: { ...definition, type: ['VerifiableCredential', ''] } }],
      ['credential_definition.type', { credential_definition: { ...definition, type: ['StudentCard'] } }],
      ['selective_disclosure[0]', { selective_disclosure: [['issuer']] }],
      ['selective_disclosure[0]', { selective_disclosure: [['issuer', 'name']] }],
      ['selective_disclosure[1]', { selective_disclosure: [['credentialSubject', 'a'], ['credentialSubject']] }],
    ])('is refused for its %s', (path, change) => {
      const refused = () => configurationOf({ ...configuration, ...change })
      expect(refused).toThrow(ProtocolError)
      expect(refused).toThrow(`${path}: `)
    })

    it('is taken when it can be issued', () => {
      for (const disclosure of ['all', 'none', [['credentialSubject', 'degrees', null]]]) {
        configurationOf({ ...configuration, selective_disclosure: disclosure })
      }
    })
  })

  describe('a dataset', () => {
    const deep = (levels: number): Json => (levels === 0 ? 1 : [deep(levels - 1)])
    it.each<[string, JsonObject]>([
      ['credential_dataset.credentialSubject', {}],
      ['credential_dataset.credentialSubject', { credentialSubject: [] }],
      ['credential_dataset.issuer', { credentialSubject: {}, issuer: 'me' }],
      ['credential_dataset.credentialSubject._sd', { credentialSubject: { _sd: [] } }],
      ['credential_dataset.credentialSubject.a._sd_alg', { credentialSubject: { a: { _sd_alg: 'x' } } }],
      ['credential_dataset.credentialSubject.a[1]....', { credentialSubject: { a: [1, { '...': 'x' }] } }],
      ['credential_dataset.credentialSubject.__proto__', { credentialSubject: JSON.parse('{"__proto__":1}') as Json }],
      ['credential_dataset.credentialSubject.a[0][0]', { credentialSubject: { a: deep(40) } }],
    ])('is refused for %s', (path, dataset) => {
      const refused = () => w3cSdJwt.refuseInvalidDataset(dataset, configurationOf(configuration))
      expect(refused).toThrow(ProtocolError)
      expect(refused).toThrow(path)
    })

    it('may have claims that are named like those of a JWT', () => {
      const credentialSubject = {
        status: 'enrolled',
        iss: 'x',
        exp: 1,
        cnf: {},
        vct: 'v',
        id: 'did:example:1',
        type: 'Student',
      }
      w3cSdJwt.refuseInvalidDataset({ credentialSubject }, configurationOf(configuration))
    })
  })
})
