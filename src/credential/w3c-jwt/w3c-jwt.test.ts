import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { configurationOf } from '../../../test/support/configuration.ts'
import { newBareSigner, orderBinding, orderFor } from '../../../test/support/order.ts'
import { toBase64url } from '../../codec/base64url.ts'
import type { Json, JsonObject } from '../../codec/json.ts'
import { readJws, writeJws } from '../../codec/jws.ts'
import { MalformedError } from '../../codec/malformed.ts'
import { toDidJwk } from '../../keys/did.ts'
import { thumbprint } from '../../keys/jwk.ts'
import type { Signer } from '../../keys/signer.ts'
import { ProtocolError } from '../../protocol/error.ts'
import { w3cJwt } from './index.ts'

const V1 = 'https://www.w3.org/2018/credentials/v1'
const configuration = {
  format: 'jwt_vc_json',
  credential_definition: { type: ['VerifiableCredential', 'StudentCard'] },
}
const claims = { name: 'Ada', degrees: ['BSc', { title: 'MSc', year: 1835 }] }

describe('W3C credentials as JWT', () => {
  let signer: Signer
  let other: Signer
  beforeAll(async () => {
    signer = await newBareSigner()
    other = await newBareSigner()
  })

  const orderOf = (more: JsonObject = {}, credentialSubject: JsonObject = claims) =>
    orderFor({ ...configuration, ...more }, { credentialSubject }, signer)
  const issue = (more: JsonObject = {}, subject: JsonObject = claims) =>
    w3cJwt.issue(orderOf(more, subject), signer, randomBytes)
  /** A JWT with any header and payload, as somebody else might sign it. */
  const jwt = (payload: JsonObject, header: JsonObject = { typ: 'JWT', alg: 'ES256' }) =>
    writeJws(header, payload, (data) => signer.sign(data))

  describe('a credential', () => {
    it('says everything twice that VCDM 1.1 has in both places', async () => {
      const { header, payload } = readJws(await issue({}, { ...claims, id: 'did:example:1' }))
      expect(header).toEqual({ typ: 'JWT', alg: 'ES256', x5c: [] })
      const [from, until] = ['2026-06-01T12:00:00Z', '2027-06-01T00:00:00Z']
      expect(payload).toEqual({
        iss: 'https://issuer.example',
        sub: 'did:example:1',
        nbf: Date.parse(from) / 1000,
        iat: Date.parse(from) / 1000,
        exp: Date.parse(until) / 1000,
        vc: {
          '@context': [V1],
          type: ['VerifiableCredential', 'StudentCard'],
          issuer: 'https://issuer.example',
          issuanceDate: from,
          expirationDate: until,
          credentialSubject: { ...claims, id: 'did:example:1' },
        },
        cnf: { jwk: signer.jwk },
      })
    })

    it('has the contexts that were declared, and no sub where the subject has no id', async () => {
      const contexts = [V1, 'https://example.org/student']
      const definition = { ...configuration.credential_definition, '@context': contexts }
      const { payload } = readJws(await issue({ credential_definition: definition }))
      expect(payload).toMatchObject({ vc: { '@context': contexts } })
      expect(payload).not.toHaveProperty('sub')
    })

    it('has nothing to hide', async () => {
      expect(w3cJwt.readHeld(await issue()).disclosable).toEqual([])
    })

    it('is known when it is not what was ordered', async () => {
      const credential = await issue()
      expect(w3cJwt.matchesOrder(orderOf(), credential)).toBe(true)
      expect(w3cJwt.matchesOrder(orderOf({}, { ...claims, name: 'Bob' }), credential)).toBe(false)
      expect(() => w3cJwt.matchesOrder(orderOf(), 'x')).toThrow(MalformedError)
    })
  })

  describe('a credential whose subject is its holder', () => {
    const subject = { subject: 'holder' }
    const did = () => toDidJwk(signer.jwk)

    it('names the key of the holder as its subject, in both places, and is bound to that key', async () => {
      const credential = await issue(subject)
      expect(readJws(credential).payload).toMatchObject({
        sub: did(),
        vc: { credentialSubject: { ...claims, id: did() } },
        cnf: { jwk: signer.jwk },
      })
      expect(w3cJwt.readHeld(credential).claims).toMatchObject({ credentialSubject: { id: did() } })
    })

    it('has the DID by which the wallet named the key, where it named one', async () => {
      const order = { ...orderOf(subject), holderDids: { [thumbprint(signer.jwk)]: 'did:key:z6Mk' } }
      const credential = await w3cJwt.issue(order, signer, randomBytes)
      expect(readJws(credential).payload).toMatchObject({ sub: 'did:key:z6Mk' })
      expect(w3cJwt.matchesOrder(order, credential)).toBe(true)
      expect(w3cJwt.matchesOrder(orderOf(subject), credential)).toBe(false)
    })

    it('is known when it is not what was ordered', async () => {
      const credential = await issue(subject)
      expect(w3cJwt.matchesOrder(orderOf(subject), credential)).toBe(true)
      expect(w3cJwt.matchesOrder(orderOf(), credential)).toBe(false)
      expect(w3cJwt.matchesOrder({ ...orderOf(subject), holderKey: other.jwk }, credential)).toBe(false)
    })

    it('takes no id of the dataset, in which no other id has to be', () => {
      const refuse = (more: JsonObject, credentialSubject: JsonObject) => () =>
        w3cJwt.refuseInvalidDataset({ credentialSubject }, configurationOf({ ...configuration, ...more }))
      expect(refuse(subject, { ...claims, id: 'did:example:1' })).toThrow(/credentialSubject\.id: .*leave it out$/)
      expect(refuse(subject, claims)).not.toThrow()
      expect(refuse({}, { ...claims, id: 'did:example:1' })).not.toThrow()
      const sourceOf = (more: JsonObject) => (path: string[]) =>
        w3cJwt.sourceOf(path, configurationOf({ ...configuration, ...more }))
      const paths = [['credentialSubject', 'id'], ['credentialSubject'], ['credentialSubject', 'id', 'x']]
      expect(paths.map(sourceOf(subject))).toEqual(['issuer', 'dataset', 'dataset'])
      expect(paths.map(sourceOf({}))).toEqual(['dataset', 'dataset', 'dataset'])
    })

    it('is for this format alone', () => {
      const sdJwt = { format: 'dc+sd-jwt', vct: 'urn:a', ...subject }
      expect(() => configurationOf(sdJwt)).toThrow(/^subject: goes with .* jwt_vc_json$/)
    })
  })

  it('is presented in a JWT that names its holder and ends soon', async () => {
    const credential = await issue()
    const { header, payload } = readJws(await w3cJwt.present(credential, [], orderBinding, signer))
    const did = toDidJwk(signer.jwk)
    expect(header).toEqual({ typ: 'JWT', alg: 'ES256', kid: `${did}#0` })
    expect(payload).toEqual({
      iss: did,
      aud: 'a',
      nonce: 'n',
      iat: Date.parse('2026-06-01T12:00:00Z') / 1000,
      exp: Date.parse('2026-06-01T12:05:00Z') / 1000,
      vp: { '@context': [V1], type: ['VerifiablePresentation'], verifiableCredential: [credential] },
    })
  })

  it('is read without a holder where it comes without a presentation', async () => {
    const evidence = w3cJwt.read(await issue())
    expect(evidence).toMatchObject({ formatProblem: undefined, holder: undefined })
    expect(evidence.claims.credentialSubject).toEqual(claims)
  })

  describe('a presentation', () => {
    const presented = async (vp: Json, more: JsonObject = {}, header?: JsonObject) =>
      w3cJwt.read(await jwt({ nonce: 'n', aud: 'a', vp, ...more }, header))
    const type = ['VerifiablePresentation']

    it.each<[string, (credential: string) => Json, RegExp]>([
      ['with no credential', () => ({ type, verifiableCredential: [] }), /not a JWT as text/],
      ['without any', () => ({ type }), /not a JWT as text/],
      ['with two', (vc) => ({ type, verifiableCredential: [vc, vc] }), /this one has several/],
      ['with one in an array in an array', (vc) => ({ type, verifiableCredential: [[vc]] }), /not a JWT as text/],
      ['with one that is an object', () => ({ type, verifiableCredential: [{ type: 'x' }] }), /not a JWT as text/],
      ['with one that is an SD-JWT', (vc) => ({ type, verifiableCredential: [`${vc}~`] }), /the credential in vp: /],
      ['that is text', (vc) => vc, /vp is not an object/],
      ['that is null', () => null, /vp is not an object/],
    ])('cannot be read %s', async (_, vp, why) => {
      const credential = await issue()
      await expect(presented(vp(credential))).rejects.toThrow(why)
      await expect(presented(vp(credential))).rejects.toThrow(MalformedError)
    })

    it('may have its credential without an array around it', async () => {
      const evidence = await presented({ type: 'VerifiablePresentation', verifiableCredential: await issue() })
      expect(evidence).toMatchObject({
        formatProblem: undefined,
        holder: { problem: undefined, nonce: 'n', audience: 'a' },
      })
    })

    it.each<[string, Json, string | undefined]>([
      ['an array with one', ['a'], 'a'],
      ['an array with two', ['a', 'b'], undefined],
      ['an array with none', [], undefined],
      ['an array in an array', [['a']], undefined],
      ['a number', 5, undefined],
    ])('has its audience in %s', async (_, aud, audience) => {
      const vp = { type, verifiableCredential: await issue() }
      expect((await presented(vp, { aud })).holder?.audience).toBe(audience)
    })

    it.each<[string, JsonObject, JsonObject | undefined, RegExp]>([
      ['it has no type', {}, undefined, /VerifiablePresentation/],
      ['it is of another type', { type: ['VerifiableCredential'] }, undefined, /VerifiablePresentation/],
      ['its JWT is of another type', { type }, { typ: 'openid4vci-proof+jwt', alg: 'ES256' }, /not JWT/],
      ['its JWT has a type that is none', { type }, { typ: null, alg: 'ES256' }, /not JWT/],
    ])('proves nothing when %s', async (_, vp, header, problem) => {
      const { holder } = await presented({ ...vp, verifiableCredential: [await issue()] }, {}, header)
      expect(holder?.problem).toMatch(problem)
    })

    it('has limits of its own, covers its credential, and approves no transaction', async () => {
      const { holder } = await presented({ type, verifiableCredential: [await issue()] }, { iat: 1, nbf: 2, exp: 3 })
      expect(holder).toMatchObject({
        ...{ presentedAt: new Date(1000), coversPresentation: true },
        validity: {
          notBefore: [{ member: 'nbf', at: new Date(2000) }],
          notAfter: [{ member: 'exp', at: new Date(3000) }],
        },
      })
      expect([holder?.approvalProblem([], []), holder?.approvalProblem(['x'], ['x'])]).toEqual([
        undefined,
        'its format has no approvals',
      ])
      expect(holder?.signatureProblem(signer.jwk, orderBinding)).toBe(undefined)
      expect(holder?.signatureProblem(other.jwk, orderBinding)).toMatch(/^another key made it/)
    })

    it('need not say when it was made, but not a time that is none', async () => {
      const vp = { type, verifiableCredential: [await issue()] }
      expect((await presented(vp)).holder?.presentedAt).toBe(undefined)
      expect((await presented(vp, { iat: 'now' })).holder?.presentedAt).toEqual(new Date(Number.NaN))
    })

    it('is never judged by the key that it names itself', async () => {
      const vp = { type, verifiableCredential: [await issue()] }
      const { boundKey } = await presented(vp, {}, { typ: 'JWT', alg: 'ES256', jwk: { ...other.jwk } })
      expect(boundKey).toMatchObject({ jwk: signer.jwk })
    })
  })

  describe('a credential of somebody else', () => {
    const vc = { type: ['VerifiableCredential'], issuer: { id: 'did:example:1' }, credentialSubject: claims }

    it('is decoded: what only the JWT says is said of the credential', async () => {
      const bare = { type: ['VerifiableCredential'], credentialSubject: claims }
      const evidence = w3cJwt.read(await jwt({ iss: 'i', jti: 'urn:1', sub: 'did:example:2', vc: bare }))
      expect(evidence.claims).toEqual({
        ...bare,
        id: 'urn:1',
        issuer: 'i',
        credentialSubject: { ...claims, id: 'did:example:2' },
      })
      expect(evidence.issuer.identifiers).toEqual(['i'])
    })

    it('has no more values than anybody should look at', async () => {
      const withValues = (count: number) => jwt({ vc: { many: Array<Json>(count - 1).fill(1) } })
      expect(w3cJwt.read(await withValues(3000)).claims).toHaveProperty('many')
      const more = await withValues(3001)
      expect(() => w3cJwt.read(more)).toThrow('the credential: it has more than 3000 values')
    })

    it('is compared in all that it says twice', async () => {
      const evidence = w3cJwt.read(
        await jwt({
          iss: 'i',
          nbf: 1,
          exp: 2,
          vc: { ...vc, issuanceDate: '2026-01-01T00:00:00Z', expirationDate: 'x' },
        }),
      )
      expect(evidence.issuer.identifiers).toEqual(['i', 'did:example:1'])
      expect(evidence.validity).toEqual({
        notBefore: [
          { member: 'nbf', at: new Date(1000) },
          { member: 'issuanceDate', at: new Date('2026-01-01T00:00:00Z') },
        ],
        notAfter: [
          { member: 'exp', at: new Date(2000) },
          { member: 'expirationDate', at: undefined },
        ],
      })
    })

    it('is bound to its subject where that is a key', async () => {
      const did = toDidJwk(other.jwk)
      const keyOf = async (payload: JsonObject) => w3cJwt.read(await jwt({ vc, ...payload })).boundKey
      const subject = (id: Json) => ({ vc: { ...vc, credentialSubject: { id } } })
      expect(await keyOf({ sub: did })).toMatchObject({ jwk: other.jwk })
      expect(await keyOf({ sub: `${did}#0` })).toMatchObject({ jwk: other.jwk })
      expect(await keyOf(subject(did))).toMatchObject({ jwk: other.jwk })
      expect(await keyOf({ sub: did, ...subject(did) })).toMatchObject({ jwk: other.jwk })
      expect(await keyOf({ sub: did, cnf: { jwk: { ...signer.jwk } } })).toMatchObject({ jwk: signer.jwk })
      expect(await keyOf({ sub: did, ...subject(toDidJwk(signer.jwk)) })).toEqual({
        problem: expect.stringMatching(/differ/) as string,
      })
      expect(await keyOf({ sub: did, cnf: { kid: 'x' } })).toEqual({
        problem: expect.stringMatching(/^cnf\.kid/) as string,
      })
      expect(await keyOf({ sub: 'did:example:1' })).toEqual({ problem: expect.stringMatching(/neither/) as string })
      expect(await keyOf({ sub: `did:jwk:${toBase64url('{}')}` })).toEqual({
        problem: expect.stringMatching(/not a key/) as string,
      })
      expect(await keyOf({})).toEqual({ problem: expect.stringMatching(/bound to no key/) as string })
    })

    it('is not taken by a wallet when it is of another type, or has no vc', async () => {
      for (const typ of ['vc+jwt', 'vc+sd-jwt', 'at+jwt', 'jwts', null]) {
        const credential = await jwt({ vc }, { alg: 'ES256', typ })
        expect(() => w3cJwt.readHeld(credential)).toThrow(MalformedError)
      }
      const root = await jwt({ ...vc })
      expect(() => w3cJwt.readHeld(root)).toThrow(/no vc/)
      const bare = await jwt({ vc })
      expect(() => w3cJwt.readHeld(bare)).toThrow(/its @context does not begin with/)
      const whole = { '@context': [V1], ...vc }
      // VC-K 5.11 writes the type in small letters.
      for (const header of [{ alg: 'ES256' }, { alg: 'ES256', typ: 'jwt' }]) {
        expect(w3cJwt.readHeld(await jwt({ vc: whole }, header)).claims).toEqual(whole)
      }
    })
  })

  describe('a configuration', () => {
    const definition = configuration.credential_definition
    it.each<[string, JsonObject]>([
      ['credential_definition', { credential_definition: 'x' }],
      ['credential_definition.type', { credential_definition: { type: ['StudentCard'] } }],
      ['credential_definition.@context', { credential_definition: { ...definition, '@context': [] } }],
      [
        'credential_definition.@context',
        { credential_definition: { ...definition, '@context': ['https://www.w3.org/ns/credentials/v2'] } },
      ],
      ['selective_disclosure', { selective_disclosure: 'all' }],
      ['selective_disclosure', { selective_disclosure: [['credentialSubject', 'name']] }],
    ])('is refused for its %s', (path, change) => {
      const refused = () => configurationOf({ ...configuration, ...change })
      expect(refused).toThrow(ProtocolError)
      expect(refused).toThrow(`${path}: `)
    })

    it('is taken when it can be issued', () => {
      configurationOf(configuration)
      configurationOf({ ...configuration, selective_disclosure: 'none' })
      const contexts = [V1, 'https://example.org/student']
      configurationOf({ ...configuration, credential_definition: { ...definition, '@context': contexts } })
    })

    it('is told what it needs', () => {
      expect(() => configurationOf({ format: 'jwt_vc_json' })).toThrow('needs it, with type')
    })
  })
})
