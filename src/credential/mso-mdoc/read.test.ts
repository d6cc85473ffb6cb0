import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { partOfLimit } from '../../../test/support/processor-time.ts'
import { toBase64url } from '../../codec/base64url.ts'
import { CBOR_TAG, type Cbor, type CborKey, type CborMap, embedCbor, encodeCbor, makeTagged } from '../../codec/cbor.ts'
import { writeCoseKey, writeSign1 } from '../../codec/cose.ts'
import { createSigner } from '../../keys/file-signer.ts'
import type { IssuerSigned } from './issuer-signed.ts'
import { readHeld } from './present.ts'
import { evidenceOf, read } from './read.ts'

const { jwk } = createSigner(generateKeyPairSync('ed25519').privateKey, [])
const time = (text: string): Cbor => makeTagged(CBOR_TAG.dateTime, text)

function evidence(change: Readonly<Record<string, Cbor | undefined>> = {}) {
  const mso = {
    bytes: new Uint8Array(0),
    version: '1.0',
    docType: 'org.example',
    digestAlgorithm: 'SHA-256',
    valueDigests: new Map(),
    deviceKeyInfo: new Map<CborKey, Cbor>([['deviceKey', writeCoseKey(jwk)]]),
    validityInfo: new Map<CborKey, Cbor>([
      ['signed', time('2026-01-01T00:00:00Z')],
      ['validFrom', time('2026-01-02T00:00:00Z')],
      ['validUntil', time('2026-01-03T00:00:00Z')],
    ]),
    status: undefined,
    ...change,
  }
  const issuerAuth = { x5chain: [Uint8Array.of(1)] }
  return evidenceOf({ nameSpaces: new Map(), issuerAuth, mso } as unknown as IssuerSigned)
}

describe('what the issuer of a mobile document says', () => {
  it('is said of its type, its key, its certificates and its times', () => {
    const signed = { member: 'signed', at: new Date('2026-01-01T00:00:00Z') }
    const { issuer, ...said } = evidence()
    expect(issuer).toMatchObject({ identifiers: [], chain: [Uint8Array.of(1)], signedAt: signed })
    expect(said).toEqual({
      formatProblem: undefined,
      boundKey: { jwk, thumbprint: expect.any(String) as string },
      disclosuresProblem: undefined,
      claims: {},
      securingMembers: [],
      types: ['org.example'],
      validity: {
        notBefore: [signed, { member: 'validFrom', at: new Date('2026-01-02T00:00:00Z') }],
        notAfter: [{ member: 'validUntil', at: new Date('2026-01-03T00:00:00Z') }],
      },
      status: undefined,
    })
  })

  it('is of no format in another version', () => {
    const formatProblemOf = (version: Cbor) => evidence({ version }).formatProblem
    expect(formatProblemOf('1.1')).toBe('its mobile security object is of version 1.1')
    expect(formatProblemOf(1)).toBe('its mobile security object is of a version that is not text')
  })

  it('is wrong where its key is none', () => {
    expect(evidence({ deviceKeyInfo: new Map() }).boundKey).toEqual({
      problem: expect.stringMatching(/^deviceKey: /) as string,
    })
  })

  it.each<[string, Cbor]>([
    ['without its tag', '2026-01-01T00:00:00Z'],
    ['with another tag', makeTagged(CBOR_TAG.fullDate, '2026-01-01')],
    ['that is not a date', time('2026-01-01')],
    ['that is a number', makeTagged(1, 1_700_000_000)],
  ])('is not a time %s', (_, value) => {
    const validityInfo = new Map<CborKey, Cbor>([['validUntil', value]])
    expect(evidence({ validityInfo }).validity).toEqual({
      notBefore: ['signed', 'validFrom'].map((member) => ({ member, at: undefined })),
      notAfter: [{ member: 'validUntil', at: undefined }],
    })
  })

  it('is a status that is an object, or one that cannot be looked up', () => {
    expect(evidence({ status: new Map([['status_list', new Map([['idx', 7]])]]) }).status).toEqual({
      status_list: { idx: 7 },
    })
    expect(evidence({ status: null }).status).toEqual({})
  })
})

describe('a presentation of a mobile document', () => {
  const mso = new Map<CborKey, Cbor>([
    ['version', '1.0'],
    ['digestAlgorithm', 'SHA-256'],
    ['docType', 'org.example'],
    ...['valueDigests', 'deviceKeyInfo', 'validityInfo'].map((name) => [name, new Map()] as const),
  ])
  type Members = Readonly<Record<string, Cbor | undefined>>
  const mapOf = (members: Members): Cbor =>
    new Map(Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])))
  const sealed = (payload: Cbor, detached: boolean): Promise<Cbor> =>
    writeSign1({ alg: -7, payload: encodeCbor(payload), detached }, () => Promise.resolve(new Uint8Array(64)))

  interface Changes {
    readonly response?: Members
    readonly document?: Members
    readonly device?: Members
    readonly auth?: Members
  }
  async function presented({ response, document, device, auth }: Changes = {}): Promise<string> {
    const issuerSigned = mapOf({ issuerAuth: await sealed(embedCbor(mso), false) })
    const deviceAuth = mapOf({ deviceSignature: await sealed(0, true), ...auth })
    const deviceSigned = mapOf({ nameSpaces: embedCbor(new Map()), deviceAuth, ...device })
    const made = mapOf({ docType: 'org.example', issuerSigned, deviceSigned, ...document })
    return toBase64url(encodeCbor(mapOf({ version: '1.0', documents: [made], status: 0, ...response })))
  }

  it('states its type beside the issuer, and has a proof of its holder', async () => {
    const { statedTypes, types, holder } = read(await presented({ document: { docType: 'org.example.other' } }))
    expect([statedTypes, types]).toEqual([['org.example.other'], ['org.example']])
    expect(holder).toMatchObject({
      ...{ problem: undefined, nonce: undefined, audience: undefined, presentedAt: undefined },
      ...{ validity: { notBefore: [], notAfter: [] }, coversPresentation: false },
    })
    expect([holder?.approvalProblem([], []), holder?.approvalProblem(['x'], ['x'])]).toEqual([
      undefined,
      'its format has no approvals',
    ])
    expect(read(await presented({ document: { deviceSigned: undefined } })).holder).toBe(undefined)
  })

  it('is of a credential that a wallet holds, unless its version is another', async () => {
    const credential = async (version: string) =>
      toBase64url(
        encodeCbor(mapOf({ issuerAuth: await sealed(embedCbor(new Map([...mso, ['version', version]])), false) })),
      )
    expect(readHeld(await credential('1.0'))).toMatchObject({
      holder: undefined,
      disclosable: [],
      expiresAt: undefined,
    })
    const other = await credential('1.1')
    expect(() => readHeld(other)).toThrow('its mobile security object is of version 1.1, and 1.0 alone is read')
  })

  it('may have errors about others', async () => {
    const errors = new Map()
    const text = await presented({ response: { documentErrors: [] }, document: { errors } })
    expect(read(text).types).toEqual(['org.example'])
  })

  it.each<[string, Changes, string]>([
    [
      'of another version',
      { response: { version: '1.1' } },
      'the DeviceResponse is of version 1.1, and 1.0 alone is read',
    ],
    ['of another status', { response: { status: 10 } }, 'the status of the DeviceResponse is not 0 (OK)'],
    ['without documents', { response: { documents: undefined } }, 'documents is not a CBOR array'],
    ['with no document', { response: { documents: [] } }, 'the DeviceResponse has no document'],
    ['with two documents', { response: { documents: [new Map(), new Map()] } }, 'has several documents'],
    ['with a document that is none', { response: { documents: [7] } }, 'the document is not a CBOR map'],
    ['with more beside its documents', { response: { x: 1 } }, 'the DeviceResponse has members other than version'],
    ['with more in its document', { document: { x: 1 } }, 'the document has members other than docType'],
    ['with a type that is none', { document: { docType: 7 } }, 'docType of the document is not a text'],
    ['without what the issuer signed', { document: { issuerSigned: undefined } }, 'issuerSigned is not a CBOR map'],
    ['with more that the device signed', { device: { x: 1 } }, 'deviceSigned has members other than nameSpaces'],
    [
      'without what the device states',
      { device: { nameSpaces: undefined } },
      'nameSpaces of deviceSigned is not embed',
    ],
    ['without a signature of the device', { device: { deviceAuth: undefined } }, 'deviceAuth is not a CBOR map'],
    ['with more signatures', { auth: { x: 1 } }, 'deviceAuth has members other than deviceSignature, deviceMac'],
    ['with a signature that is none', { auth: { deviceSignature: [] } }, 'deviceSignature is not a COSE_Sign1'],
  ])('cannot be read %s', async (_, changes, problem) => {
    const text = await presented(changes)
    expect(() => read(text)).toThrow(problem)
  })

  it('cannot be read with a payload in the signature of its device', async () => {
    const text = await presented({ auth: { deviceSignature: await sealed(0, false) } })
    expect(() => read(text)).toThrow('the payload of deviceSignature is not detached (null)')
  })

  it.each<[string, Changes, RegExp]>([
    ['a MAC', { auth: { deviceSignature: undefined, deviceMac: [] } }, /is a MAC/],
    ['a MAC beside the signature', { auth: { deviceMac: [] } }, /is a MAC/],
    ['neither', { auth: { deviceSignature: undefined } }, /has no deviceSignature/],
    ['statements that are not a map', { device: { nameSpaces: embedCbor([]) } }, /nameSpaces of deviceSigned is not a/],
    [
      'a statement that is not a map',
      { device: { nameSpaces: embedCbor(new Map([['a', 7]])) } },
      /a namespace of deviceSigned is not a/,
    ],
    [
      'a statement that nobody authorized',
      { device: { nameSpaces: embedCbor(new Map([['a', new Map([['b', 1]])]])) } },
      /did not authorize its key/,
    ],
  ])('proves nothing with %s', async (_, changes, problem) => {
    expect(read(await presented(changes)).holder?.problem).toMatch(problem)
  })

  it.each<[string, Cbor, boolean]>([
    ['its namespace', new Map([['nameSpaces', ['x', 'a']]]), true],
    ['another namespace', new Map([['nameSpaces', ['x']]]), false],
    ['each element', new Map([['dataElements', new Map([['a', ['c', 'b']]])]]), true],
    ['some of the elements', new Map([['dataElements', new Map([['a', ['b']]])]]), false],
    ['the elements of another namespace', new Map([['dataElements', new Map([['x', ['b', 'c']]])]]), false],
    ['what is not a list', new Map([['nameSpaces', 'a']]), false],
    ['what is not a map', new Map([['dataElements', ['a']]]), false],
    ['nothing that can be read', ['a'], false],
  ])('may state what the issuer authorized by %s: %#', async (_, keyAuthorizations, expected) => {
    const elements = new Map<CborKey, Cbor>([
      ['b', 1],
      ['c', 2],
    ])
    expect(read(await stating(keyAuthorizations, elements)).holder?.problem === undefined).toBe(expected)
  })

  it('does not look through all that the issuer authorized for each element that the device states', async () => {
    const names = Array.from({ length: 9500 }, (_, at) => `element${at}`)
    const authorized = new Map([['dataElements', new Map([['a', [...names].reverse()]])]])
    const text = await stating(authorized, new Map(names.map((name) => [name, 1])))
    expect(read(text).holder?.problem).toBe(undefined)
    expect(await partOfLimit(100, () => read(text))).toBeLessThan(1)
  })

  /** Makes a presentation whose device states the elements of a namespace `a`. */
  async function stating(keyAuthorizations: Cbor, elements: CborMap): Promise<string> {
    const deviceKeyInfo = new Map([['keyAuthorizations', keyAuthorizations]])
    const authorizing = new Map<CborKey, Cbor>([...mso, ['deviceKeyInfo', deviceKeyInfo]])
    const issuerSigned = mapOf({ issuerAuth: await sealed(embedCbor(authorizing), false) })
    return presented({ document: { issuerSigned }, device: { nameSpaces: embedCbor(new Map([['a', elements]])) } })
  }
})
