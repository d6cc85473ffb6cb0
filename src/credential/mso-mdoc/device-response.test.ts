import { describe, expect, it } from 'vitest'
import { toBase64url } from '../../codec/base64url.ts'
import { type Cbor, embedCbor, encodeCbor } from '../../codec/cbor.ts'
import { separateDocuments } from './device-response.ts'

const map = (members: Readonly<Record<string, Cbor>>) => new Map(Object.entries(members))
const documentOf = (docType: Cbor): Cbor => map({ docType, issuerSigned: map({ items: embedCbor([1]) }) })
const response = { version: '1.0', documents: [documentOf('a'), documentOf('b')], status: 0 }

describe('a DeviceResponse with several documents', () => {
  it.each(['1.0', '1.1'])('of version %s becomes one of version 1.0 for each', (version) => {
    expect(separateDocuments(encodeCbor(map({ ...response, version })))).toEqual(
      ['a', 'b'].map((docType) => ({
        docType,
        presentation: toBase64url(encodeCbor(map({ version: '1.0', documents: [documentOf(docType)], status: 0 }))),
      })),
    )
  })

  it('may have lengths that are not in the shortest form', () => {
    const [head, ...rest] = encodeCbor(map(response))
    expect(head).toBe(0xa3)
    expect(separateDocuments(Uint8Array.of(0xb8, 3, ...rest))).toHaveLength(2)
  })

  it('may be empty', () => {
    expect(separateDocuments(encodeCbor(map({ ...response, documents: [] })))).toEqual([])
  })

  it.each<[string, Cbor, RegExp]>([
    ['of a later version', map({ ...response, version: '1.2' }), /of version 1.2, and 1.0 or 1.1 alone is read/],
    ['of no version', map({ documents: [] }), /of no version/],
    ['with an error', map({ ...response, status: 10 }), /the status of the DeviceResponse is not 0/],
    ['with proofs in place of documents', map({ ...response, zkDocuments: [] }), /members other than/],
    ['without documents', map({ version: '1.0', status: 0 }), /documents is not a CBOR array/],
    ['with a document that is no map', map({ ...response, documents: [1] }), /a document is not a CBOR map/],
    ['with a docType that is no text', map({ ...response, documents: [documentOf(1)] }), /docType of a document/],
    ['that is no map', [response.documents], /the DeviceResponse is not a CBOR map/],
  ])('%s is refused', (_, value, problem) => {
    expect(() => separateDocuments(encodeCbor(value))).toThrow(problem)
  })

  it.each<[string, Uint8Array, RegExp]>([
    ['no CBOR', Uint8Array.of(0xff), /indefinite/],
    ['nested too deeply', new Uint8Array(100_000).fill(0x81), /nested deeper/],
    ['of too many values', Uint8Array.of(0x99, 0x75, 0x30, ...new Uint8Array(30_000)), /more than 20000 values/],
    ['too large', new Uint8Array(1024 * 1024 + 1), /larger than/],
  ])('that is %s is refused', (_, bytes, problem) => {
    expect(() => separateDocuments(bytes)).toThrow(problem)
  })
})
