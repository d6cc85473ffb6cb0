import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  asArray,
  asMap,
  type Cbor,
  type CborMap,
  decodeCbor,
  embedCbor,
  encodeCbor,
  readEmbedded,
} from '../../codec/cbor.ts'
import { readSign1 } from '../../codec/cose.ts'
import { importPublicKey } from '../../keys/jwk.ts'
import { importPrivateKey, makePrivateJwk, publicPartOf } from '../../keys/private-jwk.ts'
import { isSign1SignedBy, signBytes } from '../../keys/signature.ts'
import { publicMembersOf, type Signer } from '../../keys/signer.ts'
import type { CredentialQuery, DcqlQuery } from '../../protocol/dcql.ts'
import { isoMdocTranscript } from './device-auth.ts'
import { type DocumentsQuery, toDocumentsQuery, writeDeviceRequest } from './device-request.ts'

const MDL = 'org.iso.18013.5.1.mDL'
const NAMESPACE = 'org.iso.18013.5.1'

const jwk = makePrivateJwk(randomBytes)
const privateKey = importPrivateKey(jwk)
const publicKey = importPublicKey(publicPartOf(jwk))
const signer: Signer = {
  ...publicMembersOf(privateKey, []),
  x5c: [Buffer.from('leaf').toString('base64'), Buffer.from('authority').toString('base64')],
  sign: (data) => Promise.resolve(signBytes(privateKey, data)),
}

const credentialQuery = (
  id: string,
  doctype: string,
  elements: Record<string, boolean | undefined>,
): CredentialQuery => ({
  id,
  format: 'mso_mdoc',
  meta: { doctype_value: doctype },
  claims: Object.entries(elements).map(([element, retained]) => ({
    path: [NAMESPACE, element],
    ...(retained === undefined ? {} : { intent_to_retain: retained }),
  })),
})
const licence = credentialQuery('licence', MDL, { family_name: true })
const pid = credentialQuery('pid', 'eu.europa.ec.eudi.pid.1', { family_name: undefined })

const translated = (query: DcqlQuery): DocumentsQuery => {
  const result = toDocumentsQuery(query)
  if (result === undefined) throw new Error('the query is not translated')
  return result
}
const hexOf = (value: Cbor) => Buffer.from(encodeCbor(value)).toString('hex')
const read = (value: Cbor | undefined): CborMap => asMap(readEmbedded(value, 'it'), 'it')

describe('a query in the terms of a DeviceRequest', () => {
  it('is the example of Apple, byte for byte', () => {
    const { itemsRequests, deviceRequestInfo } = translated({
      credentials: [
        credentialQuery('a', MDL, { portrait: true, given_name: true, age_over_21: false, family_name: true }),
      ],
    })
    expect(itemsRequests.map(hexOf)).toEqual([
      'd818586ea267646f6354797065756f72672e69736f2e31383031332e352e312e6d444c6a6e616d65537061636573a1716f72672e69736f2e3138' +
        '3031332e352e31a468706f727472616974f56a676976656e5f6e616d65f56b6167655f6f7665725f3231f46b66616d696c795f6e616d65f5',
    ])
    expect(hexOf(deviceRequestInfo)).toBe(
      'd8185827a168757365436173657381a2696d616e6461746f7279f56c646f63756d656e7453657473818100',
    )
  })

  it('keeps nothing unless the query says so', () => {
    const [itemsRequest] = translated({ credentials: [pid] }).itemsRequests
    expect(read(itemsRequest).get('nameSpaces')).toEqual(new Map([[NAMESPACE, new Map([['family_name', false]])]]))
  })

  it('names the elements of several namespaces', () => {
    const claims = [...(licence.claims ?? []), { path: ['other', 'height'] }, { path: [NAMESPACE, 'portrait'] }]
    const [itemsRequest] = translated({ credentials: [{ ...licence, claims }] }).itemsRequests
    expect(read(itemsRequest).get('nameSpaces')).toEqual(
      new Map<string, Cbor>([
        [NAMESPACE, new Map(Object.entries({ family_name: true, portrait: false }))],
        ['other', new Map([['height', false]])],
      ]),
    )
  })

  it('wants all documents together', () => {
    const { deviceRequestInfo, queryIds } = translated({ credentials: [licence, pid] })
    expect(read(deviceRequestInfo).get('useCases')).toEqual([
      new Map<string, Cbor>([
        ['mandatory', true],
        ['documentSets', [[0, 1]]],
      ]),
    ])
    expect([...queryIds]).toEqual([
      [MDL, 'licence'],
      ['eu.europa.ec.eudi.pid.1', 'pid'],
    ])
  })

  it('has a use case for each credential set, and a set of documents for each option', () => {
    const { deviceRequestInfo } = translated({
      credentials: [licence, pid],
      credential_sets: [{ options: [['pid'], ['licence']] }, { options: [['licence', 'pid']], required: false }],
    })
    expect(read(deviceRequestInfo).get('useCases')).toEqual([
      new Map<string, Cbor>([
        ['mandatory', true],
        ['documentSets', [[1], [0]]],
      ]),
      new Map<string, Cbor>([
        ['mandatory', false],
        ['documentSets', [[0, 1]]],
      ]),
    ])
  })

  const withoutClaims = { id: 'licence', format: 'mso_mdoc', meta: { doctype_value: MDL } }
  it.each<[string, DcqlQuery]>([
    ['a credential of another format', { credentials: [licence, { ...pid, format: 'dc+sd-jwt' }] }],
    ['a credential without a docType', { credentials: [{ ...licence, meta: {} }] }],
    ['a credential without claims', { credentials: [withoutClaims] }],
    ['a claim that must have a value', { credentials: [{ ...licence, claims: [{ path: ['a', 'b'], values: [1] }] }] }],
    ['a choice of claims', { credentials: [{ ...licence, claim_sets: [['a']] }] }],
    ['several credentials for one query', { credentials: [{ ...licence, multiple: true }] }],
    ['an issuer', { credentials: [{ ...licence, trusted_authorities: [{ type: 'aki', values: ['AAAA'] }] }] }],
    ['two credentials of one docType', { credentials: [licence, { ...licence, id: 'other' }] }],
    ['a credential that no set has', { credentials: [licence, pid], credential_sets: [{ options: [['pid']] }] }],
    [
      'more than ten credentials',
      { credentials: Array.from({ length: 11 }, (__, n) => credentialQuery(`c${n}`, `d${n}`, { a: true })) },
    ],
  ])('cannot ask for %s', (__, query) => {
    expect(toDocumentsQuery(query)).toBeUndefined()
  })
})

describe('a DeviceRequest', () => {
  it('is signed for each document, and as a whole', async () => {
    const query = translated({ credentials: [licence, pid] })
    const { itemsRequests, deviceRequestInfo } = query
    const transcript = isoMdocTranscript({ origin: 'https://verifier.example', encryptionInfo: 'abc' })
    const request = asMap(decodeCbor(await writeDeviceRequest(query, transcript, signer)), 'it')
    expect([...request.keys()]).toEqual(['version', 'docRequests', 'readerAuthAll', 'deviceRequestInfo'])
    expect(request.get('version')).toBe('1.1')
    expect(request.get('deviceRequestInfo')).toEqual(deviceRequestInfo)
    const docRequests = asArray(request.get('docRequests'), 'it').map((each) => asMap(each, 'it'))
    expect(docRequests.map((each) => each.get('itemsRequest'))).toEqual(itemsRequests)

    const [readerAuthAll] = asArray(request.get('readerAuthAll'), 'it')
    const signatures = [...docRequests.map((each) => each.get('readerAuth')), readerAuthAll]
    const structures: readonly Cbor[] = [
      ...itemsRequests.map((each) => ['ReaderAuthentication', transcript, each]),
      ['ReaderAuthenticationAll', transcript, itemsRequests, deviceRequestInfo],
    ]
    for (const [index, structure] of structures.entries()) {
      const sign1 = readSign1(signatures[index], 'it')
      expect(sign1.payload).toBeUndefined()
      expect(sign1.x5chain.map((each) => Buffer.from(each).toString())).toEqual(['leaf', 'authority'])
      expect(isSign1SignedBy(sign1, encodeCbor(embedCbor(structure)), publicKey)).toBe(true)
    }
  })

  it('is signed as Multipaz does, in a request that its verifier sent', () => {
    const encryptionInfo = [
      'gmVkY2FwaaJlbm9uY2VQpug626n35A7Z-g8rdzLEX3JyZWNpcGllbnRQdWJsaWNLZXmkAQIgASFYIIMoajsjYmNws0yWVDjk1t-vUrIk7yCm2XdJ',
      'uSLtqOR6IlgggIvmjRaDYottzHjFTr48jfeeUvv5oxqXVWoPcpumx7Y',
    ].join('')
    const transcript = isoMdocTranscript({ origin: 'https://verifier.multipaz.org', encryptionInfo })
    const [itemsRequest = 0] = translated({
      credentials: [credentialQuery('a', MDL, { age_over_18: false })],
    }).itemsRequests
    const readerAuth: Cbor = [
      Buffer.from('a10128', 'hex'),
      new Map(),
      null,
      Buffer.from(
        '08c06c95277fddc0b71e205ad5e110a7f358879c2a2f4497c4b02f705f5fca47' +
          'ac4723ffa3208dc38997f8cc1a1f91650256c787da8b454d36dbfe3cd9f70b79',
        'hex',
      ),
    ]
    const key = importPublicKey({
      kty: 'EC',
      crv: 'P-256',
      x: 'hlsP19Fp1vQ-skBUPAOxi-rqb1Sos04mweXnba9Njm8',
      y: '-8rvgYYvJy7eaJH7xRlmuG4YQjd8O3DkyDZHOL3Nmio',
    })
    const payload = encodeCbor(embedCbor(['ReaderAuthentication', transcript, itemsRequest]))
    expect(isSign1SignedBy(readSign1(readerAuth, 'it'), payload, key)).toBe(true)
  })
})

it('a DeviceRequest takes one signature at a time from a slow key', async () => {
  let [waiting, most] = [0, 0]
  const sign: Signer['sign'] = async (data) => {
    waiting += 1
    most = Math.max(most, waiting)
    await setImmediate()
    waiting -= 1
    return signer.sign(data)
  }
  const recipient = { origin: 'https://shop.example', encryptionInfo: 'AAAA' }
  const query = translated({ credentials: [licence, pid] })
  await writeDeviceRequest(query, isoMdocTranscript(recipient), { ...signer, sign })
  expect(most).toBe(1)
})
