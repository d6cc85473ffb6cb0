/** The modules that stand for Node's in the wallet of a browser, compared with Node's own. */
import * as nodeCrypto from 'node:crypto'
import * as nodeNet from 'node:net'
import { isDeepStrictEqual as nodeEqual } from 'node:util'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Buffer as BrowserBuffer, isUtf8 } from '../console/wallet/node/buffer.ts'
import * as crypto from '../console/wallet/node/crypto.ts'
import * as net from '../console/wallet/node/net.ts'
import { isDeepStrictEqual } from '../console/wallet/node/util.ts'
import type { PublicJwk } from '../src/keys/jwk.ts'
import { makeSelfSignedCertificate } from '../src/keys/make-certificate.ts'
import { algorithms, signBytes } from '../src/keys/signature.ts'

const DIGESTS = { prime256v1: 'sha256', secp384r1: 'sha384', secp521r1: 'sha512' } as const
const CURVES = Object.entries(DIGESTS)

describe('bytes in a browser', () => {
  it.each(['', 'a', 'ab', 'abc', 'é𝄞\u0000', '\ufeffx'])('are those of Node for the text %j', (text) => {
    const ours = BrowserBuffer.from(text)
    expect([...ours]).toEqual([...Buffer.from(text)])
    for (const encoding of ['utf8', 'latin1', 'hex', 'base64', 'base64url'] as const) {
      const written = Buffer.from(text).toString(encoding)
      expect(ours.toString(encoding)).toBe(written)
      expect([...BrowserBuffer.from(written, encoding)]).toEqual([...Buffer.from(written, encoding)])
    }
  })

  it.each(['YQ', 'YQ==', 'YR', 'Y', 'Y Q', '-_-_', '+/+/', 'YWI=YWI', '*', 'YWJj\n'])(
    'are read from %j as leniently as by Node',
    (text) => {
      for (const encoding of ['base64', 'base64url'] as const) {
        expect([...BrowserBuffer.from(text, encoding)]).toEqual([...Buffer.from(text, encoding)])
      }
    },
  )

  it.each(['0f', '0fx1', 'f', '', 'FFfe0'])('are read from the digits %j as by Node', (text) => {
    expect([...BrowserBuffer.from(text, 'hex')]).toEqual([...Buffer.from(text, 'hex')])
  })

  it('are read as numbers, compared, joined and swapped as by Node', () => {
    for (let round = 0; round < 50; round++) {
      const bytes = nodeCrypto.randomBytes(8)
      const [node, ours] = [Buffer.from(bytes), BrowserBuffer.from(bytes)]
      for (const length of [1, 2, 3, 4, 6]) {
        expect(ours.readUIntBE(1, length)).toBe(node.readUIntBE(1, length))
        expect(ours.readIntBE(1, length)).toBe(node.readIntBE(1, length))
      }
      const other = nodeCrypto.randomBytes(8)
      expect(ours.compare(other)).toBe(node.compare(other))
      expect([...BrowserBuffer.concat([ours, other])]).toEqual([...Buffer.concat([node, other])])
      expect(String(ours.subarray(2, 5))).toBe(String(node.subarray(2, 5)))
      expect(BrowserBuffer.from(bytes).swap16().toString('utf16le')).toBe(
        Buffer.from(bytes).swap16().toString('utf16le'),
      )
    }
    expect([isUtf8(Buffer.from('é')), isUtf8(Buffer.of(0xff))]).toEqual([true, false])
  })
})

describe('signatures in a browser', () => {
  it.each(CURVES)('on %s are verified as by Node', (namedCurve, digest) => {
    const { publicKey, privateKey } = nodeCrypto.generateKeyPairSync('ec', {
      namedCurve,
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    })
    const signer = nodeCrypto.createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' })
    const key = crypto.createPublicKey({ key: publicKey, format: 'der' })
    const nodeKey = nodeCrypto.createPublicKey({ key: publicKey, format: 'der', type: 'spki' })
    expect([key.asymmetricKeyType, key.asymmetricKeyDetails]).toEqual(['ec', { namedCurve }])
    const jwk = nodeKey.export({ format: 'jwk' }) as Record<string, string>
    expect(key.export()).toEqual(jwk)
    expect(crypto.createPublicKey({ key: jwk, format: 'jwk' }).bytes).toEqual(key.bytes)
    for (let round = 0; round < 4; round++) {
      const data = nodeCrypto.randomBytes(40)
      const signature = nodeCrypto.sign(digest, data, signer)
      for (const by of [key, { key }]) expect(crypto.verify(digest, data, by, signature)).toBe(true)
      data[3] = (data[3] ?? 0) ^ 1
      expect(crypto.verify(digest, data, key, signature)).toBe(false)
    }
  })

  it('on Ed25519 are verified as by Node', () => {
    const { publicKey, privateKey } = nodeCrypto.generateKeyPairSync('ed25519')
    const key = crypto.createPublicKey({ key: publicKey.export({ type: 'spki', format: 'der' }), format: 'der' })
    expect([key.asymmetricKeyType, key.export()]).toEqual(['ed25519', publicKey.export({ format: 'jwk' })])
    const signature = nodeCrypto.sign(undefined, Buffer.from('data'), privateKey)
    expect(crypto.verify(undefined, Buffer.from('data'), { key }, signature)).toBe(true)
    expect(crypto.verify(undefined, Buffer.from('date'), { key }, signature)).toBe(false)
  })

  it('by a key of another kind are by none', () => {
    const { publicKey } = nodeCrypto.generateKeyPairSync('rsa', { modulusLength: 2048 })
    const key = crypto.createPublicKey({ key: publicKey.export({ type: 'spki', format: 'der' }), format: 'der' })
    expect(key.asymmetricKeyType).toBe('rsa')
    expect(() => crypto.verify('sha256', Buffer.from('data'), { key }, Buffer.alloc(256))).toThrow(TypeError)
  })

  it('are by no point that is off its curve', () => {
    const x = Buffer.alloc(32, 1).toString('base64url')
    expect(() => crypto.createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y: x }, format: 'jwk' })).toThrow()
  })

  it.each(CURVES)('on %s have keys that are made and uncompressed as by Node', (namedCurve) => {
    const [node, ours] = [nodeCrypto.createECDH(namedCurve), crypto.createECDH(namedCurve)]
    node.generateKeys()
    const size = { prime256v1: 32, secp384r1: 48, secp521r1: 66 }[namedCurve] ?? 0
    const secret = Buffer.concat([Buffer.alloc(size), node.getPrivateKey()]).subarray(-size)
    ours.setPrivateKey(secret)
    expect(ours.getPublicKey().toString('hex')).toBe(node.getPublicKey('hex'))
    const compressed = node.getPublicKey(null, 'compressed')
    expect(crypto.ECDH.convertKey(compressed, namedCurve).toString('hex')).toBe(node.getPublicKey('hex'))
    expect(() => ours.setPrivateKey(Buffer.alloc(size))).toThrow()
  })

  it('have digests that are those of Node', () => {
    for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
      for (const encoding of ['hex', 'base64url'] as const) {
        expect(crypto.hash(digest, 'text', encoding)).toBe(nodeCrypto.hash(digest, 'text', encoding))
      }
    }
  })
})

describe('what the wallet verifies in a browser', () => {
  afterEach(() => {
    vi.doUnmock('node:crypto')
    vi.resetModules()
  })

  it.each(Object.values(algorithms))('is signed on $crv, and by a certificate', async ({ crv, namedCurve }) => {
    const { publicKey, privateKey } =
      namedCurve === undefined
        ? nodeCrypto.generateKeyPairSync('ed25519')
        : nodeCrypto.generateKeyPairSync('ec', { namedCurve })
    const data = Buffer.from('data')
    const signature = Buffer.from(signBytes(privateKey, data))
    const times = { notBefore: new Date(0), notAfter: new Date(1e12) }
    const content = { privateKey, publicKey, commonName: crv, serial: Buffer.of(1), ...times }
    const der = makeSelfSignedCertificate(content)
    vi.resetModules()
    vi.doMock('node:crypto', () => crypto)
    const { isSignedBy, parseCertificate } = await import('../src/keys/certificate.ts')
    const { verifySignature } = await import('../src/keys/signature.ts')
    const { importPublicKey } = await import('../src/keys/jwk.ts')
    const certificate = parseCertificate(der)
    expect(isSignedBy(certificate, certificate)).toBe(true)
    const imported = importPublicKey(publicKey.export({ format: 'jwk' }) as unknown as PublicJwk)
    for (const key of [certificate.publicKey, imported]) expect(verifySignature(key, data, signature)).toBe(true)
    expect(verifySignature(imported, Buffer.from('date'), signature)).toBe(false)
  })
})

describe('addresses in a browser', () => {
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '256.1.1.1',
    '1.2.3',
    '01.2.3.4',
    '::1',
    'fe80::1',
    'fc00:1::',
    '2001:db8::1:2',
    '::ffff:10.0.0.1',
    '1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7:8:9',
    'localhost',
    '',
    '::',
    'fe80::1%eth0',
  ])('are classified as by Node: %j', (text) => {
    expect([net.isIPv4(text), net.isIPv6(text)]).toEqual([
      nodeNet.isIPv4(text),
      nodeNet.isIPv6(text.split('%')[0] ?? '') && !text.includes('%'),
    ])
    const [ours, node] = [new net.BlockList(), new nodeNet.BlockList()]
    for (const list of [ours, node]) {
      list.addSubnet('10.0.0.0', 8, 'ipv4')
      list.addSubnet('fc00::', 7, 'ipv6')
      list.addSubnet('::1', 128, 'ipv6')
    }
    if (text.includes('%') || text.includes('::ffff:')) return
    for (const family of ['ipv4', 'ipv6'] as const) expect(ours.check(text, family)).toBe(node.check(text, family))
  })
})

describe('equality in a browser', () => {
  const values = [
    1,
    '1',
    null,
    [],
    {},
    [1],
    { a: 1 },
    { a: 1, b: [] },
    { b: [], a: 1 },
    [[1], { a: null }],
    true,
    { a: undefined },
  ]
  it('is that of Node for JSON', () => {
    for (const one of values) {
      for (const other of structuredClone(values)) expect(isDeepStrictEqual(one, other)).toBe(nodeEqual(one, other))
    }
  })
})
