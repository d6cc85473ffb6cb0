import { describe, expect, it } from 'vitest'
import { embedCbor, encodeCbor } from '../../codec/cbor.ts'
import { thumbprint } from '../../keys/jwk.ts'
import { deviceAuthentication, sessionTranscript } from './device-auth.ts'

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** OpenID4VP 1.0, appendices B.2.6.1 and B.2.6.2: the examples and their parts. */
const session = {
  audience: 'x509_san_dns:example.com',
  nonce: 'exc7gBkxjx1rdc9udRrveKvSsJIq80avlXeLHhGwqtA',
  encryptionKeyThumbprint: Buffer.from(
    thumbprint({
      kty: 'EC',
      crv: 'P-256',
      x: 'DxiH5Q4Yx3UrukE2lWCErq8N8bqC9CHLLrAwLz5BmE0',
      y: 'XtLM4-3h5o3HUH0MHVJV0kyq0iBlrBwlh8qEDMZ4-Pc',
    }),
    'base64url',
  ),
  recipient: { responseUri: 'https://example.com/response' },
}

describe('the session transcript', () => {
  it('is that of the example in the specification', () => {
    expect(toHex(session.encryptionKeyThumbprint)).toBe(
      '4283ec927ae0f208daaa2d026a814f2b22dca52cf85ffa8f3f8626c6bd669047',
    )
    expect(toHex(encodeCbor(sessionTranscript(session)))).toBe(
      '83f6f682714f70656e494434565048616e646f7665725820' +
        '048bc053c00442af9b8eed494cefdd9d95240d254b046b11b68013722aad38ac',
    )
  })

  it('is that of the example for the Digital Credentials API, whatever the audience is', () => {
    for (const audience of ['origin:https://example.com', session.audience]) {
      const binding = { ...session, audience, recipient: { origin: 'https://example.com' } }
      expect(toHex(encodeCbor(sessionTranscript(binding)))).toBe(
        '83f6f682764f70656e4944345650444341504948616e646f7665725820' +
          'fbece366f4212f9762c74cfdbf83b8c69e371d5d68cea09cb4c48ca6daab761a',
      )
    }
  })

  it('is another one without encryption, and for every other member', () => {
    const others = [
      session,
      { ...session, encryptionKeyThumbprint: undefined },
      { ...session, audience: 'x' },
      { ...session, nonce: 'x' },
      { ...session, recipient: { responseUri: 'x' } },
      { ...session, recipient: { origin: 'x' } },
    ].map((each) => toHex(encodeCbor(sessionTranscript(each))))
    expect(new Set(others).size).toBe(others.length)
  })
})

it('the device signs that it does, the session, the type of the document and what it states itself', () => {
  const nameSpaces = embedCbor(new Map())
  const parts = ['DeviceAuthentication', sessionTranscript(session), 'org.iso.18013.5.1.mDL', nameSpaces]
  expect(toHex(deviceAuthentication(session, 'org.iso.18013.5.1.mDL', nameSpaces))).toBe(
    toHex(encodeCbor(embedCbor(parts))),
  )
})
