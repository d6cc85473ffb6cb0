import { hash, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { encryptDeviceResponse } from '../../test/support/iso-mdoc.ts'
import { fromBase64url, toBase64url } from '../codec/base64url.ts'
import { type Cbor, encodeCbor } from '../codec/cbor.ts'
import { isoMdocTranscript } from '../credential/mso-mdoc/device-auth.ts'
import { openHpke } from '../keys/hpke.ts'
import { makePrivateJwk } from '../keys/private-jwk.ts'
import { readEncryptedResponse, readEncryptionInfo } from '../protocol/iso-mdoc.ts'
import { type IsoMdocSession, isoMdocRecipient, readIsoMdocResponse, requireDocumentsQuery } from './iso-mdoc.ts'

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** A request and its response, made by walt.id: its vector ANNEXC-DETERMINISTIC-001. */
const vector = {
  session: {
    origin: 'https://verifier.example',
    nonce: toBase64url(Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')),
    encryptionKey: makePrivateJwk(() =>
      Buffer.from('9baeb7b14495d7b69cbe751a98c7ee4ad36b41053da880fe00baa4bb5ce31372', 'hex'),
    ),
  },
  encryptionInfo: [
    'gmVkY2FwaaJlbm9uY2VQAAECAwQFBgcICQoLDA0OD3JyZWNpcGllbnRQdWJsaWNLZXmkAQIgASFYILO0LJXwA8VAp7-rI9YIJvj1wfEQ122YdEjw',
    'xUFeYAFEIlgg0u68CgTFZk_nslWFmYhDMQQ6vdBNf2vwy3QHKI_80Js',
  ].join(''),
  response: [
    'gmVkY2FwaaJjZW5jWEEEG5gvoNUFmbbhxRtSl075PExgPLGtxDb9Hxu_VnVe03aaHuJ-vW219YofqLJJGUHZKgrrjcEmoLYT0ur35BJCBGpjaXBo',
    'ZXJUZXh0WCXUGzq3WpzY3INchUZw8cbzbz8bWJueKZ4PLW0LEvhDmmQPAKOa',
  ].join(''),
}

const MDL = 'org.iso.18013.5.1.mDL'
const query = {
  credentials: [
    { id: 'licence', format: 'mso_mdoc', meta: { doctype_value: MDL }, claims: [{ path: ['a', 'b'] }] },
    {
      id: 'pid',
      format: 'mso_mdoc',
      meta: { doctype_value: 'eu.europa.ec.eudi.pid.1' },
      claims: [{ path: ['a', 'b'] }],
    },
  ],
}
const documentsQuery = requireDocumentsQuery(query)
const session: IsoMdocSession = {
  origin: 'https://shop.example',
  nonce: toBase64url(randomBytes(24)),
  encryptionKey: makePrivateJwk(randomBytes),
}
const documentOf = (docType: string): Cbor => new Map([['docType', docType]])
const responseOf = (...documents: readonly Cbor[]): Cbor =>
  new Map<string, Cbor>([
    ['version', '1.0'],
    ['documents', documents],
    ['status', 0],
  ])

/** Encrypts a DeviceResponse as a wallet would for a session. */
function encrypt(deviceResponse: Uint8Array, to: IsoMdocSession = session): string {
  const recipient = isoMdocRecipient(to)
  return encryptDeviceResponse(deviceResponse, recipient.encryptionInfo, recipient)
}

describe('the request of walt.id', () => {
  it('has the same information on encryption, and the same session transcript', () => {
    const recipient = isoMdocRecipient(vector.session)
    expect(recipient).toEqual({ origin: vector.session.origin, encryptionInfo: vector.encryptionInfo })
    expect(hash('sha256', encodeCbor(isoMdocTranscript(recipient)))).toBe(
      '564a34efc36b9b5a5ccafb6bf2e923cd96cc4a9c3712407f887d1e84d3bb58e4',
    )
    expect(toHex(encodeCbor(isoMdocTranscript({ origin: vector.session.origin, encryptionInfo: 'abc' })))).toBe(
      '83f6f6826564636170695820b9c9b918824ee57c5af1d74030deebc9fe714161fc48eebc04fbc5258243ab6e',
    )
  })

  it('has a response that is decrypted', async () => {
    const info = encodeCbor(isoMdocTranscript(isoMdocRecipient(vector.session)))
    const deviceResponse = await openHpke(readEncryptedResponse(vector.response), vector.session.encryptionKey, info)
    expect(hash('sha256', deviceResponse)).toBe('61ddbf1dd2e26100520b569946be8415790ec2e35a789172436ed4ac15445581')
  })
})

describe('a response by org-iso-mdoc', () => {
  it('becomes a vp_token with the documents of each credential query', async () => {
    const members = await readIsoMdocResponse(
      encrypt(encodeCbor(responseOf(documentOf('eu.europa.ec.eudi.pid.1'), documentOf(MDL), documentOf(MDL)))),
      session,
      documentsQuery,
    )
    const presentationOf = (docType: string) => toBase64url(encodeCbor(responseOf(documentOf(docType))))
    expect(members).toEqual({
      vp_token: {
        pid: [presentationOf('eu.europa.ec.eudi.pid.1')],
        licence: [presentationOf(MDL), presentationOf(MDL)],
      },
    })
  })

  it('is refused if the query could not be asked so', () => {
    const otherQuery = { credentials: [{ id: 'card', format: 'dc+sd-jwt', meta: {} }] }
    expect(() => requireDocumentsQuery(otherQuery)).toThrow('was not offered in the request')
  })

  it('keeps a document that was not asked for apart, whatever its docType is', async () => {
    const documents = [documentOf('org.example'), documentOf('__proto__')]
    const { vp_token: token } = await readIsoMdocResponse(
      encrypt(encodeCbor(responseOf(...documents))),
      session,
      documentsQuery,
    )
    expect(Object.keys(token as object)).toEqual(['org.example', '__proto__'])
  })

  it.each<[string, IsoMdocSession]>([
    ['another origin', { ...session, origin: 'https://shop.example.evil' }],
    ['another nonce', { ...session, nonce: toBase64url(randomBytes(24)) }],
    ['another key', { ...session, encryptionKey: makePrivateJwk(randomBytes) }],
  ])('that was made for %s is refused', async (_, other) => {
    const response = encrypt(encodeCbor(responseOf(documentOf(MDL))), other)
    const members = readIsoMdocResponse(response, session, documentsQuery)
    await expect(members).rejects.toThrow('response: it cannot be decrypted')
  })

  it.each<[string, string, RegExp]>([
    ['not encrypted', toBase64url(encodeCbor(responseOf(documentOf(MDL)))), /^response: the EncryptedResponse is not/],
    ['with a content that is no CBOR', encrypt(Uint8Array.of(0xff)), /^response: .* indefinite/],
    ['with a content that is nested deeply', encrypt(new Uint8Array(10_000).fill(0x81)), /^response: .* nested deeper/],
    ['with a content that is empty', encrypt(new Uint8Array(0)), /^response: the CBOR is cut short/],
    [
      'of no documents',
      encrypt(
        encodeCbor(
          new Map<string, Cbor>([
            ['version', '1.0'],
            ['status', 0],
          ]),
        ),
      ),
      /^response: documents/,
    ],
  ])('that is %s is refused', async (_, response, problem) => {
    await expect(readIsoMdocResponse(response, session, documentsQuery)).rejects.toThrow(problem)
  })
})

it('the information on encryption has the nonce and the key of the session', () => {
  const { nonce, recipientPublicKey } = readEncryptionInfo(isoMdocRecipient(session).encryptionInfo)
  expect(Buffer.from(nonce)).toEqual(fromBase64url(session.nonce))
  expect(recipientPublicKey).toMatchObject({ x: session.encryptionKey.x, y: session.encryptionKey.y })
})
