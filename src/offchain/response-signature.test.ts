import { createECDH, createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { accountOfKey } from './authentication/recover.ts'
import {
  endorse,
  endorsementInput,
  parseEngineSignature,
  type ResponseParts,
  responseSignatureInput,
  verifyEndorsement,
  verifyResponse,
  writeEngineSignature,
} from './response-signature.ts'

const digest = (text: string): Uint8Array => Uint8Array.from(createHash('sha256').update(text).digest())
const raw = (key: KeyObject): Uint8Array =>
  Uint8Array.from(Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url'))

const parts: ResponseParts = {
  chainId: '31337',
  contract: `00${'11'.repeat(20)}`,
  engine: `00${'22'.repeat(20)}`,
  request: { method: 'GET', uri: '/shares/1?a=b', authorization: 'offchain-v2 …', bodyDigest: digest('') },
  response: { status: 200, contentType: 'text/plain', bodyDigest: digest('a share') },
  block: 17,
  time: 1_764_000_000_000,
}
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const signature = Uint8Array.from(sign(null, responseSignatureInput(parts), privateKey))
const header = writeEngineSignature({ publicKey: raw(publicKey), time: parts.time, signature })

describe('the signature of an answer', () => {
  it('is made by node:crypto and verified by the client', () => {
    const parsed = parseEngineSignature(header)
    if (parsed === undefined) throw new Error('not parsed')
    expect(verifyResponse(parts, parsed)).toBe(true)
  })

  const other = parts.contract.replace('11', '12')
  const changes: readonly (readonly [string, Partial<ResponseParts>])[] = [
    ['chain', { chainId: '1' }],
    ['contract', { contract: other }],
    ['engine', { engine: other }],
    ['method', { request: { ...parts.request, method: 'HEAD' } }],
    ['uri', { request: { ...parts.request, uri: '/shares/1?a=c' } }],
    ['authorization', { request: { ...parts.request, authorization: '' } }],
    ['body of the request', { request: { ...parts.request, bodyDigest: digest('x') } }],
    ['status', { response: { ...parts.response, status: 404 } }],
    ['content type', { response: { ...parts.response, contentType: 'text/html' } }],
    ['body', { response: { ...parts.response, bodyDigest: digest('another') } }],
    ['block', { block: 18 }],
  ]
  it.each(changes)('does not hold for another %s', (_, change) => {
    const parsed = parseEngineSignature(header)
    if (parsed === undefined) throw new Error('not parsed')
    expect(verifyResponse({ ...parts, ...change }, parsed)).toBe(false)
  })

  it('does not hold for another time or key', () => {
    const key = raw(generateKeyPairSync('ed25519').publicKey)
    expect(verifyResponse(parts, { publicKey: raw(publicKey), time: parts.time + 1, signature })).toBe(false)
    expect(verifyResponse(parts, { publicKey: key, time: parts.time, signature })).toBe(false)
    expect(verifyResponse(parts, { publicKey: new Uint8Array(32), time: parts.time, signature })).toBe(false)
  })

  it.each([
    '',
    'ed25519',
    header.toUpperCase(),
    ` ${header}`,
    `${header} `,
    header.slice(0, -2),
    header.replace(' ', '  '),
  ])('is no header: %j', (value) => expect(parseEngineSignature(value)).toBeUndefined())
})

describe('the endorsement of a key', () => {
  const identity = new Uint8Array(32).fill(7)
  it.each(['evm', 'partisia'] as const)('is the engine’s, with addresses as on %s', (addresses) => {
    const engine = accountOfKey(identity, addresses)
    const chain = { id: '31337', addresses }
    const endorsed = { chainId: chain.id, engine, publicKey: raw(publicKey), issuedAt: parts.time }
    const endorsement = endorse(endorsed, identity)
    expect(verifyEndorsement(endorsement, engine, chain)).toEqual(raw(publicKey))
    expect(verifyEndorsement(endorsement, parts.engine, chain)).toBeUndefined()
    expect(verifyEndorsement(endorsement, engine, { ...chain, id: '1' })).toBeUndefined()
    expect(verifyEndorsement({ ...endorsement, issued_at: parts.time + 1 }, engine, chain)).toBeUndefined()
    expect(verifyEndorsement({ ...endorsement, issued_at: 0.5 }, engine, chain)).toBeUndefined()
    expect(verifyEndorsement({ ...endorsement, public_key: '00'.repeat(32) }, engine, chain)).toBeUndefined()
    expect(verifyEndorsement({ ...endorsement, signature: '' }, engine, chain)).toBeUndefined()
    expect(verifyEndorsement(endorse(endorsed, new Uint8Array(32).fill(8)), engine, chain)).toBeUndefined()
  })

  it('is a signature that node:crypto verifies', () => {
    const engine = accountOfKey(identity, 'evm')
    const endorsed = { chainId: '1', engine, publicKey: raw(publicKey), issuedAt: 1 }
    const { signature: hex } = endorse(endorsed, identity)
    const ecdh = createECDH('secp256k1')
    ecdh.setPrivateKey(identity)
    const [x = '', y = ''] = [ecdh.getPublicKey().subarray(1, 33), ecdh.getPublicKey().subarray(33)].map((half) =>
      half.toString('base64url'),
    )
    const jwk = { kty: 'EC', crv: 'secp256k1', x, y }
    const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' as const }
    expect(verify('sha256', endorsementInput(endorsed), key, Buffer.from(hex.slice(2), 'hex'))).toBe(true)
  })
})
