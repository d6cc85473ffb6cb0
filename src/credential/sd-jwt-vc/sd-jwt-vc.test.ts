import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { configurationOf } from '../../../test/support/configuration.ts'
import { newBareSigner, orderBinding, orderFor } from '../../../test/support/order.ts'
import { toBase64url } from '../../codec/base64url.ts'
import { digestOf, hashNames } from '../../codec/digest.ts'
import type { Json, JsonObject } from '../../codec/json.ts'
import { readJws, writeJws } from '../../codec/jws.ts'
import { MalformedError } from '../../codec/malformed.ts'
import { readSdJwt } from '../../codec/sd-jwt.ts'
import { thumbprint } from '../../keys/jwk.ts'
import type { Signer } from '../../keys/signer.ts'
import { ProtocolError } from '../../protocol/error.ts'
import { findQueryMistakes } from '../formats.ts'
import { sdJwtVc } from './index.ts'

const VCT = 'urn:example:student-card'
const configuration = { format: 'dc+sd-jwt', vct: VCT }
const REGISTERED = ['iss', 'aud', 'nbf', 'exp', 'iat', 'jti', 'cnf', 'vct', 'vct#integrity', 'aka_vcts', 'status']
const claims = { name: 'Ada', degrees: ['BSc', { title: 'MSc', year: 1835 }], address: { city: 'London' } }

describe('SD-JWT VC', () => {
  let signer: Signer
  beforeAll(async () => {
    signer = await newBareSigner()
  })

  const orderOf = (more: JsonObject = {}, dataset: JsonObject = claims) =>
    orderFor({ ...configuration, ...more }, dataset, signer)
  const issue = (more: JsonObject = {}, dataset: JsonObject = claims) =>
    sdJwtVc.issue(orderOf(more, dataset), signer, randomBytes)
  const shownOf = (credential: string, places: readonly (readonly (string | number)[])[] = []) =>
    sdJwtVc.present(credential, places, orderBinding, signer).then((text) => {
      const evidence = sdJwtVc.read(text)
      expect(evidence.disclosuresProblem).toBe(undefined)
      return Object.fromEntries(
        Object.entries(evidence.claims).filter(([name]) => !evidence.securingMembers.includes(name)),
      )
    })

  /** A credential with any header and payload, as somebody else might issue it. */
  const foreign = async (payload: JsonObject, header: JsonObject = { typ: 'dc+sd-jwt', alg: 'ES256' }) =>
    `${await writeJws(header, payload, (data) => signer.sign(data))}~`

  describe('a credential', () => {
    it('has its claims and those of JWT at the root of its payload', async () => {
      const { jws, disclosures } = readSdJwt(await issue())
      expect(jws.header).toEqual({ typ: 'dc+sd-jwt', alg: 'ES256', x5c: [] })
      expect(jws.payload).toEqual({
        _sd: expect.arrayContaining([expect.any(String)]) as Json,
        _sd_alg: 'sha-256',
        vct: VCT,
        iss: 'https://issuer.example',
        iat: Date.parse('2026-06-01T12:00:00Z') / 1000,
        exp: Date.parse('2027-06-01T00:00:00Z') / 1000,
        cnf: { jwk: signer.jwk },
      })
      // Three members, two elements, two members of the second element, one member of the address.
      expect(disclosures).toHaveLength(8)
    })

    it('has the same claims from a dataset with or without credentialSubject', async () => {
      const [bare, wrapped] = [await issue(), await issue({}, { credentialSubject: claims })]
      expect(await shownOf(wrapped, [[]])).toEqual(claims)
      expect(await shownOf(bare, [[]])).toEqual(claims)
      const both = { credentialSubject: { name: 'Ada' }, role: 'student' }
      expect(await shownOf(await issue({}, both), [[]])).toEqual(both)
    })

    it('hides nothing under selective_disclosure none', async () => {
      const credential = await issue({ selective_disclosure: 'none' })
      expect(readJws(credential.slice(0, -1)).payload).toMatchObject(claims)
      expect(await shownOf(credential)).toEqual(claims)
    })

    it.each<[string, Json, JsonObject]>([
      ['a name', [['name']], { degrees: claims.degrees, address: claims.address }],
      ['a nested name', [['address', 'city']], { ...claims, address: {} }],
      ['an element', [['degrees', 0]], { ...claims, degrees: [claims.degrees[1] as Json] }],
      ['every element', [['degrees', null]], { ...claims, degrees: [] }],
      ['a name in one element', [['degrees', 1, 'year']], { ...claims, degrees: ['BSc', { title: 'MSc' }] }],
      ['a name in every element', [['degrees', null, 'title']], { ...claims, degrees: ['BSc', { year: 1835 }] }],
      ['what is not there', [['nothing']], claims],
      ['two names', [['name'], ['address', 'city']], { degrees: claims.degrees, address: {} }],
    ])('hides %s, and what it may not hide stands in the clear', async (_, paths, shown) => {
      const credential = await issue({ selective_disclosure: paths })
      expect(await shownOf(credential)).toEqual(shown)
      expect(await shownOf(credential, [[]])).toEqual(claims)
      expect(sdJwtVc.readHeld(credential).claims).toMatchObject(claims)
    })

    it('approves the transactions for which it is presented, and no others', async () => {
      const transaction = toBase64url('{"type":"payment","credential_ids":["card"]}')
      const presented = { ...orderBinding, transactionData: [transaction] }
      const { holder } = sdJwtVc.read(await sdJwtVc.present(await issue(), [], presented, signer))
      expect(holder?.approvalProblem([transaction], [transaction])).toBe(undefined)
      expect(holder?.approvalProblem([], [])).toMatch(/no transaction/)
    })

    it('hides a member as one, with all that lies in it', async () => {
      const { disclosures } = readSdJwt(await issue({ selective_disclosure: [['degrees']] }))
      expect(disclosures).toHaveLength(1)
    })

    it('shows an element and keeps those beside it', async () => {
      expect(await shownOf(await issue(), [['degrees', 1, 'title']])).toEqual({ degrees: [{ title: 'MSc' }] })
    })
  })

  it('knows a credential that is not what was ordered', async () => {
    const credential = await issue()
    expect(sdJwtVc.matchesOrder(orderOf(), credential)).toBe(true)
    expect(sdJwtVc.matchesOrder(orderOf({}, { credentialSubject: claims }), credential)).toBe(true)
    expect(sdJwtVc.matchesOrder(orderOf({}, { ...claims, name: 'Bob' }), credential)).toBe(false)
    expect(sdJwtVc.matchesOrder(orderOf(), credential.split('~').toSpliced(1, 1).join('~'))).toBe(false)
    expect(() => sdJwtVc.matchesOrder(orderOf(), 'x')).toThrow(MalformedError)
  })

  describe('a credential of somebody else', () => {
    it.each(hashNames)('has digests by %s, and so has the key binding', async (name) => {
      const disclosure = toBase64url('["salt","given_name","Ada"]')
      const credential = await foreign({ vct: 'urn:a', _sd: [digestOf(disclosure, name)], _sd_alg: name })
      const presentation = await sdJwtVc.present(`${credential}${disclosure}~`, [['given_name']], orderBinding, signer)
      const { claims: shown, holder } = sdJwtVc.read(presentation)
      expect([shown.given_name, holder?.coversPresentation]).toEqual(['Ada', true])
      const { sdHashInput, keyBinding } = readSdJwt(presentation)
      expect(keyBinding?.payload.sd_hash).toBe(digestOf(sdHashInput, name))
      const other = hashNames.find((each) => each !== name)
      const forged = await foreign(
        { ...keyBinding?.payload, sd_hash: digestOf(sdHashInput, other) },
        { typ: 'kb+jwt', alg: 'ES256' },
      )
      expect(sdJwtVc.read(sdHashInput + forged.slice(0, -1)).holder?.coversPresentation).toBe(false)
    })

    it('has the types that its issuer knows it by', async () => {
      const evidence = sdJwtVc.read(await foreign({ vct: 'urn:a', aka_vcts: ['urn:b', 'urn:c'] }))
      expect(evidence.types).toEqual(['urn:a', 'urn:b', 'urn:c'])
      for (const [wanted, matches] of [
        ['urn:a', true],
        ['urn:c', true],
        ['urn', false],
        ['1', false],
      ] as const) {
        expect(sdJwtVc.matchesMeta(evidence, { vct_values: ['urn:x', wanted] })).toBe(matches)
      }
      expect(sdJwtVc.matchesMeta(evidence, {})).toBe(true)
      expect(sdJwtVc.matchesMeta(evidence, { vct_values: 'urn:a' })).toBe(false)
      expect(sdJwtVc.matchesMeta(evidence, { vct_values: [['urn:a']] })).toBe(false)
    })

    it.each([['urn:b'], [['urn:b', 1]], [['urn:b', ['urn:c']]], [['urn:b', 'urn:a']], [[]], [{ 'urn:b': true }]])(
      'has its vct alone where aka_vcts is %j',
      async (akaVcts) => {
        expect(sdJwtVc.read(await foreign({ vct: 'urn:a', aka_vcts: akaVcts })).types).toEqual(['urn:a'])
      },
    )

    it('says from when and until when it holds', async () => {
      expect(sdJwtVc.read(await foreign({ vct: VCT, nbf: 1, exp: 2 })).validity).toEqual({
        notBefore: [{ member: 'nbf', at: new Date(1000) }],
        notAfter: [{ member: 'exp', at: new Date(2000) }],
      })
    })

    it('is of this format by its header where a bad disclosure may hide its vct', async () => {
      const credential = `${await foreign({})}${toBase64url('["salt","vct","urn:a"]')}~`
      expect(sdJwtVc.read(credential)).toMatchObject({
        formatProblem: undefined,
        disclosuresProblem: expect.stringContaining('not referred to') as string,
      })
      expect(sdJwtVc.read(await foreign({})).formatProblem).toBe('its type (typ) is dc+sd-jwt, and it has no vct')
    })

    it('leaves it to the certificate who issued it, when it has no iss', async () => {
      expect(sdJwtVc.read(await foreign({ vct: VCT })).issuer.identifiers).toEqual([])
      expect(sdJwtVc.read(await foreign({ vct: VCT, iss: 1 })).issuer.identifiers).toEqual([''])
    })

    it('may name the key of its holder by a DID, and is bound to no other where it has the key', async () => {
      const boundKeyOf = async (cnf: JsonObject) => sdJwtVc.read(await foreign({ vct: VCT, cnf })).boundKey
      const kid = `did:jwk:${toBase64url(JSON.stringify(signer.jwk))}#0`
      expect(await boundKeyOf({ kid })).toEqual({ jwk: signer.jwk, thumbprint: thumbprint(signer.jwk) })
      expect(await boundKeyOf({ kid, jwk: {} })).toEqual({ problem: expect.stringMatching(/^cnf\.jwk: /) as string })
      const neither = { problem: 'cnf.kid: the key identifier is neither a did:jwk nor a did:key' }
      for (const other of ['key-1', 'did:web:example.com#0']) expect(await boundKeyOf({ kid: other })).toEqual(neither)
    })

    it('has protocol members among its claims, which a report leaves out', async () => {
      const payload = { vct: VCT, iss: 'i', sub: 's', cnf: {}, 'vct#integrity': 'x', name: 'Ada' }
      const { claims: all, securingMembers } = sdJwtVc.read(await foreign(payload))
      expect(all).toEqual(payload)
      expect(Object.keys(all).filter((name) => !securingMembers.includes(name))).toEqual(['sub', 'name'])
    })

    it('may have the type that drafts up to 18 gave it, unless it is a credential of the W3C', async () => {
      const header = { typ: 'vc+sd-jwt', alg: 'ES256' }
      expect(sdJwtVc.read(await foreign({ vct: VCT }, header)).formatProblem).toBe(undefined)
      expect(sdJwtVc.readHeld(await foreign({ vct: VCT }, header)).types).toEqual([VCT])
      expect(sdJwtVc.read(await foreign({ vct: VCT, '@context': [] }, header)).formatProblem).toBe(
        'its type (typ) is vc+sd-jwt',
      )
      expect(sdJwtVc.read(await foreign({}, header))).toMatchObject({
        formatProblem: 'its type (typ) is vc+sd-jwt, and it has no vct',
      })
    })

    it('is not taken by a wallet when it is of another type, or names none', async () => {
      for (const header of [{ typ: 'vc+jwt' }, { typ: 'JWT' }, {}]) {
        const credential = await foreign({ vct: VCT }, { alg: 'ES256', ...header })
        expect(() => sdJwtVc.readHeld(credential)).toThrow(MalformedError)
      }
      for (const payload of [{}, { vct: '' }, { vct: ['urn:a'] }]) {
        const credential = await foreign(payload)
        expect(() => sdJwtVc.readHeld(credential)).toThrow(/no vct/)
      }
    })
  })

  describe('a configuration', () => {
    it.each<[string, JsonObject]>([
      ['vct', { vct: undefined as unknown as Json }],
      ['vct', { vct: '' }],
      ['credential_definition', { credential_definition: {} }],
      ['doctype', { doctype: 'org.iso.18013.5.1.mDL' }],
      ['status', { status: 'bitstring' }],
      ['selective_disclosure[0]', { selective_disclosure: [[]] }],
      ['selective_disclosure[0]', { selective_disclosure: [[0]] }],
      ['selective_disclosure[1]', { selective_disclosure: [['name'], ['status', 'status_list']] }],
      ...REGISTERED.map((name): [string, JsonObject] => [
        'selective_disclosure[0]',
        { selective_disclosure: [[name]] },
      ]),
    ])('is refused for its %s', (path, change) => {
      const refused = () => configurationOf({ ...configuration, ...change })
      expect(refused).toThrow(ProtocolError)
      expect(refused).toThrow(`${path}: `)
    })

    it('is taken when it can be issued', () => {
      for (const disclosure of ['all', 'none', [['degrees', null, 'title'], ['address'], ['sub']]]) {
        configurationOf({ ...configuration, selective_disclosure: disclosure })
      }
    })

    it('of which an issuer says no type asks for none', () => {
      expect(sdJwtVc.metaOf({ format: 'dc+sd-jwt' })).toEqual({})
    })
  })

  describe('a dataset', () => {
    it.each<[string, JsonObject]>([
      ...REGISTERED.map((name): [string, JsonObject] => [`credential_dataset.${name}: `, { [name]: 'x' }]),
      ['credential_dataset.credentialSubject.status: ', { credentialSubject: { status: 'enrolled' } }],
      ['credential_dataset.a[1]....: ', { a: [1, { '...': 'x' }] }],
      ['credential_dataset._sd: ', { _sd: [] }],
      ['credential_dataset.credentialSubject._sd_alg: ', { credentialSubject: { _sd_alg: 'x' } }],
      ['credential_dataset.a.__proto__: ', { a: JSON.parse('{"__proto__":1}') as Json }],
      [
        'credential_dataset: it holds more than 2000',
        Object.fromEntries(Array.from({ length: 2001 }, (_, i) => [`c${i}`, i])),
      ],
    ])('is refused for %s', (path, dataset) => {
      const refused = () => sdJwtVc.refuseInvalidDataset(dataset, configurationOf(configuration))
      expect(refused).toThrow(ProtocolError)
      expect(refused).toThrow(path)
    })

    it('may have as many claims as there can be disclosures', () => {
      const most = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`c${i}`, i]))
      sdJwtVc.refuseInvalidDataset(most, configurationOf(configuration))
    })

    it('may have claims below the root that are named like those of a JWT, and may say who the subject is', () => {
      const parsed = configurationOf(configuration)
      sdJwtVc.refuseInvalidDataset({ sub: 'user-1', enrolment: { status: 'active', iss: 'x', exp: 1 } }, parsed)
      sdJwtVc.refuseInvalidDataset({ credentialSubject: {}, role: { vct: 'x' } }, parsed)
    })
  })

  it.each<[string, JsonObject, readonly string[]]>([
    ['no claims', {}, []],
    ['a claim of its own', { path: ['name', 'first'], values: [1] }, []],
    ['an index', { path: [0] }, []],
    ...['iss', 'vct'].flatMap((name): [string, JsonObject, readonly string[]][] => [
      [`${name} with a text`, { path: [name], values: ['x', 1] }, []],
      [`${name} with numbers`, { path: [name], values: [1, 2] }, [`values: ${name} is a string, and none`]],
    ]),
    ...['iat', 'nbf', 'exp'].flatMap((name): [string, JsonObject, readonly string[]][] => [
      [`${name} with a number`, { path: [name], values: [1, 'x'] }, []],
      [`${name} with texts`, { path: [name], values: ['x', 'y'] }, [`values: ${name} is a number, and none`]],
    ]),
    ['iss with one number', { path: ['iss'], values: [1] }, ['values: iss is a string, and none']],
    ['iss with any value', { path: ['iss'] }, []],
    ['iss with no value', { path: ['iss'], values: [] }, []],
    [
      'what is inside of a text',
      { path: ['iss', 'x'], values: [1] },
      ['path: iss is a string, with nothing inside it'],
    ],
  ])('a query for %s', (_, claim, expected) => {
    const mistakes = [...findQueryMistakes(sdJwtVc, { meta: {}, claims: [{ path: ['name'] }, claim] }, 'query')]
    expect(mistakes).toEqual(expected.map((each) => expect.stringContaining(`query.claims[1].${each}`) as string))
  })

  it('a query without meta is judged elsewhere', () => {
    expect([...findQueryMistakes(sdJwtVc, { claims: [{ path: ['iss', 'x'] }] }, 'query')]).toEqual([])
  })

  it.each<[string, JsonObject]>([
    ['query.meta.type_values: ', { type_values: [['A']] }],
    ['query.meta.doctype_value: ', { doctype_value: 'a' }],
    ['query.meta.vct_values: ', { vct_values: [] }],
    ['query.meta.vct_values: ', { vct_values: 'urn:a' }],
    ['query.meta.vct_values[1]: ', { vct_values: ['urn:a', ''] }],
  ])('a query is refused for %s', (mistake, meta) => {
    expect([...findQueryMistakes(sdJwtVc, { meta }, 'query')]).toEqual([expect.stringContaining(mistake)])
  })
})
