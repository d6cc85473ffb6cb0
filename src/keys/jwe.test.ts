import { createCipheriv, createPublicKey, generateKeyPair, generateKeyPairSync, hash, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { CompactEncrypt, compactDecrypt } from 'jose'
import { describe, expect, it } from 'vitest'
import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { decryptJwe, encryptJwe, type JweDecryption, jweEncryptions, readEncryptionKey } from './jwe.ts'
import { readPublicJwk } from './jwk.ts'
import { importPrivateKey, makePrivateJwk } from './private-jwk.ts'

const ours = makePrivateJwk(randomBytes)
const publicPart = { kty: ours.kty, crv: ours.crv, x: ours.x, y: ours.y }
const jwk = readPublicJwk(publicPart)
const key = importPrivateKey(ours)
const to = { jwk, alg: 'ECDH-ES', enc: 'A256GCM', kid: 'k1' } as const

const decryption: JweDecryption = {
  keys: [{ key: ours, kid: 'k1' }],
  encs: jweEncryptions,
  maxBytes: 10_000,
}

describe('a JWE', () => {
  it('is decrypted as in OpenID4VP 1.0, Encrypted Responses', async () => {
    // The example of the specification, with its private key.
    const example = {
      kty: 'EC',
      crv: 'P-256',
      x: 'YO4epjifD-KWeq1sL2tNmm36BhXnkJ0He-WqMYrp9Fk',
      y: 'Hekpm0zfK7C-YccH5iBjcIXgf6YdUvNUac_0At55Okk',
      d: 'Et-3ce0omz8_TuZ96Df9lp0GAaaDoUnDe6X-CRO7Aww',
    } as const
    const text = [
      'eyJhbGciOiJFQ0RILUVTIiwiZW5jIjoiQTEyOEdDTSIsImtpZCI6ImFjIiwiZXBrIjp7Imt0eSI6IkVDIiwieCI6Im5ubVZwbTNWM2piaGNhZlFhUkJr',
      'U1ZOSGx3Wkh3dC05ck9wSnVmeVlJdWsiLCJ5IjoicjRmakRxd0p5czlxVU9QLV9iM21SNVNaRy0tQ3dPMm1pYzVWU05UWU45ZyIsImNydiI6IlAtMjU2',
      'In19..uAYcHRUSSn2X0WPX.yVzlGSYG4qbg0bq18JcUiDRw56yVnbKR8E7S7YlEtzT00RqE3Pw5oTpUG3hdLN4taHZ9gC1kwak8JOnJgQ.1wR024_3-q',
      'tAlx1oFIUpQQ',
    ].join('')
    expect(await decryptJwe(text, { ...decryption, keys: [{ key: example, kid: 'ac' }] })).toEqual({
      vp_token: { example_credential_id: ['eyJhb...YMetA'] },
    })
  })

  it('comes back as it was, whatever is in it, compressed or not', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })),
        fc.constantFrom(...jweEncryptions),
        fc.constantFrom('DEF' as const, undefined),
        async (object, enc, zip) => {
          const payload = JSON.stringify(object)
          const text = await encryptJwe(payload, { ...to, enc, zip })
          expect(await decryptJwe(text, { ...decryption, maxBytes: 1_000_000, zip })).toEqual(JSON.parse(payload))
        },
      ),
      { numRuns: 50 },
    )
  })

  it('is read by another library, and names the key it is for', async () => {
    const { plaintext, protectedHeader } = await compactDecrypt(await encryptJwe('{"a":1}', to), key)
    expect(Buffer.from(plaintext).toString()).toBe('{"a":1}')
    expect(protectedHeader).toMatchObject({ alg: 'ECDH-ES', enc: 'A256GCM', kid: 'k1', epk: { crv: 'P-256' } })
    expect(protectedHeader).not.toHaveProperty('zip')
  })

  it('may name its parties', async () => {
    const text = await new CompactEncrypt(Buffer.from('{}'))
      .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A128GCM', kid: 'k1' })
      .setKeyManagementParameters({ apu: Buffer.from('Alice'), apv: Buffer.from('Bob') })
      .encrypt(createPublicKey(key))
    expect(await decryptJwe(text, decryption)).toEqual({})
  })

  it('that is damaged anywhere is refused and nothing else happens', async () => {
    const text = await encryptJwe('{"vp_token":{}}', to)
    await fc.assert(
      fc.asyncProperty(
        fc.nat(text.length - 1),
        fc.constantFrom('A', 'z', '.', '=', '~', 'é'),
        async (at, character) => {
          fc.pre(text[at] !== character)
          await refusal(text.slice(0, at) + character + text.slice(at + 1))
        },
      ),
      { numRuns: 300 },
    )
    await fc.assert(
      fc.asyncProperty(fc.string(), async (garbage) => {
        await refusal(garbage)
      }),
    )
  })

  it.each([
    ['crit', { crit: ['exp'] }, /critical/],
    ['zip', { zip: 'DEF' }, /compressed/],
    ['another zip', { zip: 'GZ' }, /compressed/],
    ['alg RSA-OAEP', { alg: 'RSA-OAEP' }, /^alg is not ECDH-ES$/],
    ['alg dir', { alg: 'dir' }, /^alg/],
    ['alg ECDH-ES+A128KW', { alg: 'ECDH-ES+A128KW' }, /^alg/],
    ['alg PBES2', { alg: 'PBES2-HS256+A128KW', p2c: 1e9 }, /^alg/],
    ['no alg', { alg: undefined }, /^alg/],
    ['alg of another type', { alg: ['ECDH-ES'] }, /^alg/],
    ['enc A128CBC-HS256', { enc: 'A128CBC-HS256' }, /^enc is not A128GCM or A256GCM$/],
    ['enc A192GCM', { enc: 'A192GCM' }, /^enc/],
    ['another kid', { kid: 'k2' }, /kid/],
    ['no kid, for another key', { kid: undefined }, /^it cannot be decrypted with the key that is published/],
    ['a kid that is not text', { kid: 1 }, /kid/],
    ['a long kid', { kid: 'k'.repeat(257) }, /kid/],
    ['no epk', { epk: undefined }, /epk: it is missing/],
    ['an epk that is text', { epk: 'key' }, /epk: it is missing/],
    ['an epk off the curve', { epk: { ...publicPart, y: publicPart.x } }, /epk: the key is not a point/],
    ['an epk at the origin', { epk: { ...publicPart, x: 'A'.repeat(43), y: 'A'.repeat(43) } }, /epk: the key is not/],
    ['a private epk', { epk: ours }, /epk: the key is a private one/],
    ['an apu that is not base64url', { apu: 'é' }, /apu/],
    ['a long apv', { apv: 'A'.repeat(1028) }, /apv/],
    ['a long header', { x: 'x'.repeat(8192) }, /header is longer/],
  ])('with %s is refused', async (_, change, why) => {
    const [, ...rest] = (await encryptJwe('{}', to)).split('.')
    const header = { alg: 'ECDH-ES', enc: 'A256GCM', kid: 'k1', epk: publicPart, ...change }
    const text = [toBase64url(JSON.stringify(header)), ...rest].join('.')
    expect(await refusal(text, { ...decryption, maxBytes: 20_000 })).toMatch(why)
  })

  it('without a kid is decrypted with the first key', async () => {
    const text = await encryptJwe('{"a":1}', { ...to, kid: undefined })
    expect(JSON.parse(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString())).not.toHaveProperty('kid')
    expect(await decryptJwe(text, decryption)).toEqual({ a: 1 })
    const keys = [{ key: makePrivateJwk(randomBytes), kid: 'newest' }, ...decryption.keys]
    expect(await refusal(text, { ...decryption, keys })).toMatch(/cannot be decrypted with the key that is published/)
  })

  it('with an epk off the curve is refused where it would decrypt', async () => {
    // The formulas of an addition do not use b, so that every point is on some curve, and some of those have few
    // points.
    const onCurve = [bigOf(publicPart.x), bigOf(publicPart.y)] as const
    expect(await decryptJwe(jweFrom(onCurve), decryption)).toEqual({})
    expect(await refusal(jweFrom([onCurve[0], onCurve[1] + 1n]))).toMatch(/^epk: the key is not a point/)
  })

  it.each([
    ['P-384', 'P-384'],
    ['P-521', 'P-521'],
  ])('with an epk on %s is refused', async (_, namedCurve) => {
    const { publicKey } = await promisify(generateKeyPair)('ec', { namedCurve })
    const epk = publicKey.export({ format: 'jwk' })
    const header = toBase64url(JSON.stringify({ alg: 'ECDH-ES', enc: 'A256GCM', kid: 'k1', epk }))
    const [, ...rest] = (await encryptJwe('{}', to)).split('.')
    expect(await refusal([header, ...rest].join('.'))).toBe('epk: it is not on P-256')
  })

  it.each([
    ['four parts', (parts: string[]) => parts.slice(0, 4), /five parts/],
    ['six parts', (parts: string[]) => [...parts, ''], /five parts/],
    ['a thousand parts', () => Array.from({ length: 1000 }, () => ''), /five parts/],
    ['a key', ([h, , ...rest]: string[]) => [h, 'AAAA', ...rest], /brings a key/],
    ['a short iv', ([h, k, , ...rest]: string[]) => [h, k, 'AAAA', ...rest], /initialization vector is not 12/],
    ['a short tag', (parts: string[]) => [...parts.slice(0, 4), 'AAAA'], /authentication tag is not 16/],
    ['no ciphertext', ([h, k, iv, , tag]: string[]) => [h, k, iv, '', tag], /decrypted/],
    ['a ciphertext that is not base64url', ([h, k, iv, , tag]: string[]) => [h, k, iv, '+', tag], /the ciphertext/],
    ['a header that is not JSON', (parts: string[]) => ['AAAA', ...parts.slice(1)], /the header: it is not JSON/],
    ['a header that is an array', (parts: string[]) => ['W10', ...parts.slice(1)], /the header: it is not a JSON obj/],
  ])('of %s is refused', async (_, change, why) => {
    expect(await refusal(change((await encryptJwe('{}', to)).split('.')).join('.'))).toMatch(why)
  })

  it.each([
    ['another JWE', () => encryptJwe('{}', to), /must be an unsigned JSON object: it is not JSON/],
    ['a JWS', () => 'eyJhbGciOiJub25lIn0.e30.', /not JSON/],
    ['an array', () => '[]', /not a JSON object/],
    ['null', () => 'null', /not a JSON object/],
    ['nothing', () => '', /not JSON/],
    ['an object with a doubled member', () => '{"vp_token":{},"vp_token":{}}', /vp_token: this member is there twice/],
    ['a number that would be another', () => '{"a":1e400}', /a: this number loses digits/],
    ['an object nested deeply', () => `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, /nested deeper/],
    ['an array nested to the bottom of the stack', () => '['.repeat(4000), /not JSON/],
  ])('of %s is refused', async (_, payload, why) => {
    expect(await refusal(await encryptJwe(await payload(), to))).toMatch(why)
  })

  it('of a text that is not UTF-8 is refused', async () => {
    const text = await new CompactEncrypt(Buffer.from('{"state":"J\u00fcrgen"}', 'latin1'))
      .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A128GCM', kid: 'k1' })
      .encrypt(createPublicKey(key))
    expect(await refusal(text)).toMatch(/a text is not UTF-8/)
  })

  it('to a key of somebody else under our kid is refused', async () => {
    const { kty, crv, x, y } = makePrivateJwk(randomBytes)
    const text = await encryptJwe('{}', { ...to, jwk: readPublicJwk({ kty, crv, x, y }) })
    expect(await refusal(text)).toMatch(/cannot be decrypted/)
  })

  it('that is too large is refused, and so is one that would inflate', async () => {
    const large = JSON.stringify({ a: 'a'.repeat(5_000_000) })
    expect(await refusal(await encryptJwe(large, to))).toBe('it is larger than 10000 bytes')
    const bomb = await encryptJwe(large, { ...to, zip: 'DEF' })
    expect(bomb.length).toBeLessThan(10_000)
    expect(await refusal(bomb)).toMatch(/compressed/)
    expect(await refusal(bomb, { ...decryption, zip: 'DEF' })).toMatch(/inflated within the limit/)
  })

  it('that says it is compressed and is not is refused', async () => {
    const text = await new CompactEncrypt(Buffer.from('{}'))
      .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', kid: 'k1' })
      .encrypt(createPublicKey(key))
    const [header = '', ...rest] = text.split('.')
    const changed = { ...(JSON.parse(Buffer.from(header, 'base64url').toString()) as JsonObject), zip: 'DEF' }
    const lying = [toBase64url(JSON.stringify(changed)), ...rest].join('.')
    expect(await refusal(lying, { ...decryption, zip: 'DEF' })).toMatch(/decrypted/)
  })
})

describe('a key to encrypt to', () => {
  it('is read with its kid, and without what does not belong to it', () => {
    const value = { ...publicPart, alg: 'ECDH-ES', use: 'enc', kid: 'k1', x5c: ['…'] }
    expect(readEncryptionKey(value)).toEqual({ jwk: publicPart, alg: 'ECDH-ES', kid: 'k1' })
    expect(readEncryptionKey({ ...publicPart, alg: 'ECDH-ES' }).kid).toBeUndefined()
  })

  it('without alg is for the algorithm that its owner names elsewhere', () => {
    expect(readEncryptionKey(publicPart, 'ECDH-ES')).toEqual({ jwk: publicPart, alg: 'ECDH-ES', kid: undefined })
    expect(() => readEncryptionKey({ ...publicPart, alg: 'RSA-OAEP' }, 'ECDH-ES')).toThrow(/alg/)
  })

  it.each(['P-384', 'P-521'])('may be on %s', async (namedCurve) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    const recipient = readEncryptionKey({ ...publicKey.export({ format: 'jwk' }), alg: 'ECDH-ES' })
    const text = await encryptJwe('{"a":1}', { ...recipient, enc: 'A128GCM' })
    const { plaintext } = await compactDecrypt(text, privateKey)
    expect(Buffer.from(plaintext).toString()).toBe('{"a":1}')
  })

  it.each([
    ['no alg', { ...publicPart }, /alg/],
    ['another alg', { ...publicPart, alg: 'ECDH-ES+A256KW' }, /alg/],
    ['the use of signing', { ...publicPart, alg: 'ECDH-ES', use: 'sig' }, /use/],
    ['a private part', { ...ours, alg: 'ECDH-ES' }, /private/],
    ['a point off the curve', { ...publicPart, y: publicPart.x, alg: 'ECDH-ES' }, /point/],
    ['a kid that is empty', { ...publicPart, alg: 'ECDH-ES', kid: '' }, /kid/],
    ['another curve', { kty: 'OKP', crv: 'Ed25519', x: publicPart.x, alg: 'ECDH-ES' }, /Ed25519/],
    ['no form', 'key', /JSON object/],
  ])('with %s is refused', (_, value, why) => {
    expect(() => readEncryptionKey(value)).toThrow(MalformedError)
    expect(() => readEncryptionKey(value)).toThrow(why)
  })
})

/** Returns why a text was refused; anything but a MalformedError fails the test. */
async function refusal(text: string, with_: JweDecryption = decryption): Promise<string> {
  const thrown: unknown = await decryptJwe(text, with_).then(
    () => 'it was accepted',
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(MalformedError)
  return (thrown as Error).message
}

type Point = readonly [x: bigint, y: bigint]

const PRIME = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n

/** Makes a JWE of `{}` from a sender with this point, by the private key of the receiver: nobody knows the sender's. */
function jweFrom(sender: Point): string {
  const [x, y] = sender.map((each) => toBase64url(bytesOf(each))) as [string, string]
  const epk = { kty: 'EC', crv: 'P-256', x, y }
  const header = toBase64url(JSON.stringify({ alg: 'ECDH-ES', enc: 'A256GCM', kid: 'k1', epk }))
  const [secret] = times(bigOf(ours.d), sender)
  // RFC 7518 section 4.6.2.
  const info = Buffer.from(
    `00000001${'00'.repeat(32)}00000007${Buffer.from('A256GCM').toString('hex')}${'00'.repeat(8)}00000100`,
    'hex',
  )
  info.set(bytesOf(secret), 4)
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', hash('sha256', info, 'buffer'), iv).setAAD(Buffer.from(header))
  const ciphertext = Buffer.concat([cipher.update('{}'), cipher.final()])
  return [header, '', ...[iv, ciphertext, cipher.getAuthTag()].map(toBase64url)].join('.')
}

function times(factor: bigint, point: Point): Point {
  const rest = factor > 1n ? times(factor >> 1n, point) : undefined
  if (rest === undefined) return point
  const doubled = plus(rest, rest)
  return factor & 1n ? plus(doubled, point) : doubled
}

function plus([ax, ay]: Point, [bx, by]: Point): Point {
  const slope = ax === bx ? (3n * ax * ax - 3n) * inverse(2n * ay) : (by - ay) * inverse(bx - ax)
  const x = modulo(slope * slope - ax - bx)
  return [x, modulo(slope * (ax - x) - ay)]
}

function inverse(value: bigint): bigint {
  let [result, base] = [1n, modulo(value)]
  for (let exponent = PRIME - 2n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = modulo(result * base)
    base = modulo(base * base)
  }
  return result
}

function modulo(value: bigint): bigint {
  return ((value % PRIME) + PRIME) % PRIME
}

function bigOf(text: string): bigint {
  return BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`)
}

function bytesOf(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex')
}
