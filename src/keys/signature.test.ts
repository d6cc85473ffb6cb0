import { createPublicKey, generateKeyPair, type KeyObject, sign, verify } from 'node:crypto'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { CompactSign, compactVerify, generateKeyPair as generateJoseKeyPair } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { readJws, writeJws } from '../codec/jws.ts'
import { createSigner } from './file-signer.ts'
import { importPublicKey } from './jwk.ts'
import {
  type Algorithm,
  type AlgorithmDetails,
  algorithmOf,
  algorithms,
  isJwsSignedBy,
  joseAlgorithms,
  jwsSignatureProblem,
  verifySignature,
} from './signature.ts'

const pairOn = (namedCurve: string) => promisify(generateKeyPair)('ec', { namedCurve })
/** The order of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const bytesOf = (value: bigint) => Buffer.from(value.toString(16).padStart(64, '0'), 'hex')

describe('ES256', () => {
  let privateKey: KeyObject
  let publicKey: KeyObject
  let other: KeyObject
  beforeAll(async () => {
    privateKey = (await pairOn('P-256')).privateKey
    publicKey = createPublicKey(privateKey)
    other = (await pairOn('P-256')).publicKey
  })
  const signed = (data: Uint8Array) => createSigner(privateKey, []).sign(data)

  it('verifies the example of RFC 7515 appendix A.3', () => {
    const jws = readJws(
      'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ' +
        '.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q',
    )
    const key = importPublicKey({
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    })
    expect(isJwsSignedBy(jws, key)).toBe(true)
    expect(isJwsSignedBy(jws, other)).toBe(false)
  })

  it('agrees with jose: it takes what we sign', async () => {
    const text = await writeJws({ alg: 'ES256', typ: 'x' }, { sub: 'ü' }, signed)
    const { protectedHeader, payload } = await compactVerify(text, publicKey)
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'x' })
    expect(JSON.parse(Buffer.from(payload).toString())).toEqual({ sub: 'ü' })
    await expect(compactVerify(text, other)).rejects.toThrow('signature verification failed')
  })

  it('agrees with jose: we take what it signs', async () => {
    const pair = await generateJoseKeyPair('ES256', { extractable: true })
    const text = await new CompactSign(Buffer.from('{"sub":"x"}'))
      .setProtectedHeader({ alg: 'ES256' })
      .sign(pair.privateKey)
    const jws = readJws(text)
    const { KeyObject: FromWeb } = await import('node:crypto')
    expect(isJwsSignedBy(jws, FromWeb.from(pair.publicKey))).toBe(true)
    expect(isJwsSignedBy(jws, publicKey)).toBe(false)
  })

  it('agrees with jose on signatures that are wrong', async () => {
    const data = Buffer.from('eyJhbGciOiJFUzI1NiJ9.e30')
    const good = Buffer.from(await signed(data))
    const [r, s] = [good.subarray(0, 32), good.subarray(32)]
    const zero = Buffer.alloc(32)
    const wrong: readonly Buffer[] = [
      Buffer.alloc(0),
      Buffer.alloc(64),
      Buffer.alloc(64, 0xff),
      good.subarray(0, 63),
      Buffer.concat([good, Buffer.alloc(1)]),
      Buffer.concat([s, r]),
      Buffer.concat([r, zero]),
      Buffer.concat([zero, s]),
      Buffer.concat([r, bytesOf(ORDER)]),
      Buffer.concat([bytesOf(ORDER), s]),
      Buffer.concat([bytesOf(1n), bytesOf(1n)]),
      sign('sha256', data, privateKey),
      sign('sha512', data, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
    ]
    expect(verifySignature(publicKey, data, good)).toBe(true)
    for (const signature of wrong) {
      expect(verifySignature(publicKey, data, signature)).toBe(false)
      const text = `${data.toString()}.${signature.toString('base64url')}`
      await expect(compactVerify(text, publicKey)).rejects.toThrow()
    }
  })

  it('is over every bit of the data', async () => {
    const data = Buffer.from('some bytes that are signed')
    const signature = await signed(data)
    fc.assert(
      fc.property(fc.nat(data.length - 1), fc.nat(7), (at, bit) => {
        const changed = Buffer.from(data)
        changed[at] = (changed[at] ?? 0) ^ (1 << bit)
        expect(verifySignature(publicKey, changed, signature)).toBe(false)
      }),
      { numRuns: 50 },
    )
  })

  it('is not by a key of another kind, whatever the signature; and nothing is thrown', async () => {
    const data = Buffer.from('data')
    const rsa = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
    for (const pair of [await pairOn('P-384'), await pairOn('secp256k1'), rsa]) {
      const signature = sign('sha256', data, {
        key: pair.privateKey,
        dsaEncoding: 'ieee-p1363',
      })
      expect(verifySignature(pair.publicKey, data, signature)).toBe(false)
      expect(verifySignature(pair.publicKey, data, signature.subarray(0, 64))).toBe(false)
    }
  })

  it.each(['none', 'HS256', 'ES384', 'es256', 'EdDSA', '', undefined, null, 256, ['ES256']])(
    'is not what a header with the algorithm %j says, though the signature is right',
    async (alg) => {
      const header = alg === undefined ? {} : { alg }
      expect(isJwsSignedBy(readJws(await writeJws(header, {}, signed)), publicKey)).toBe(false)
      expect(isJwsSignedBy(readJws(await writeJws({ alg: 'ES256' }, {}, signed)), publicKey)).toBe(true)
    },
  )

  it('says why it is not by a key: another algorithm, another key, or a key that nobody may use', async () => {
    const jws = readJws(await writeJws({ alg: 'ES384' }, {}, signed))
    expect(jwsSignatureProblem(jws, publicKey)).toBe('its algorithm (alg) is ES384, and that key is for ES256')
    const nameless = readJws(await writeJws({}, {}, signed))
    expect(jwsSignatureProblem(nameless, publicKey)).toBe(
      'its algorithm (alg) is no text or number, and that key is for ES256',
    )
    const right = readJws(await writeJws({ alg: 'ES256' }, {}, signed))
    expect(jwsSignatureProblem(right, other)).toBe('another key made it, or what it signed was changed')
    const { publicKey: rsa } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
    expect(jwsSignatureProblem(right, rsa)).toMatch(/^the algorithm of that key is not supported; supported are EC on /)
  })

  it('does not look at keys in the header', async () => {
    const jwk = publicKey.export({ format: 'jwk' }) as Record<string, string>
    const jws = readJws(await writeJws({ alg: 'ES256', jwk, kid: 'x', jku: 'https://a.example' }, {}, signed))
    expect(isJwsSignedBy(jws, other)).toBe(false)
  })
})

describe.each(Object.keys(algorithms) as Algorithm[])('%s', (algorithm) => {
  const { jose, size, digest }: AlgorithmDetails = algorithms[algorithm]
  let privateKey: KeyObject
  let publicKey: KeyObject
  let others: readonly { readonly privateKey: KeyObject; readonly publicKey: KeyObject }[]
  const pairFor = (name: Algorithm) => {
    const { namedCurve } = algorithms[name]
    return namedCurve === undefined ? promisify(generateKeyPair)('ed25519') : pairOn(namedCurve)
  }
  beforeAll(async () => {
    privateKey = (await pairFor(algorithm)).privateKey
    publicKey = createPublicKey(privateKey)
    others = await Promise.all((Object.keys(algorithms) as Algorithm[]).map(pairFor))
  })
  const signed = (data: Uint8Array) => createSigner(privateKey, []).sign(data)

  it('is the algorithm of its keys, and signs in two coordinates', async () => {
    expect(algorithmOf(privateKey)).toBe(algorithm)
    expect(algorithmOf(publicKey)).toBe(algorithm)
    for (let each = 0; each < 20; each++) expect((await signed(Buffer.from([each]))).length).toBe(2 * size)
  })

  it('has raw signatures like those of Node, also where a number begins with zeros', async () => {
    // A signature in 128 has a number that begins with a zero byte, and slower curves run the same code.
    for (let each = 0; each < (algorithm === 'ES256' ? 600 : 40); each++) {
      const data = Buffer.from([each >> 8, each])
      expect(verify(digest, data, { key: publicKey, dsaEncoding: 'ieee-p1363' }, await signed(data))).toBe(true)
      const theirs = sign(digest, data, { key: privateKey, dsaEncoding: 'ieee-p1363' })
      expect(verifySignature(publicKey, data, theirs)).toBe(true)
    }
  })

  it.each(jose)('agrees with jose in both directions under the name %s', async (alg) => {
    const text = await writeJws({ alg }, { sub: 'ü' }, signed)
    const { payload } = await compactVerify(text, publicKey)
    expect(JSON.parse(Buffer.from(payload).toString())).toEqual({ sub: 'ü' })
    const theirs = await new CompactSign(Buffer.from('{"sub":"x"}')).setProtectedHeader({ alg }).sign(privateKey)
    expect(isJwsSignedBy(readJws(theirs), publicKey)).toBe(true)
    for (const other of others) {
      expect(isJwsSignedBy(readJws(theirs), other.publicKey)).toBe(false)
      await expect(compactVerify(text, other.publicKey)).rejects.toThrow()
    }
  })

  it('is under no name of another algorithm, though the signature is right', async () => {
    for (const alg of [...joseAlgorithms, 'none', 'ES256K', 'Ed448', algorithm.toLowerCase()]) {
      const jws = readJws(await writeJws({ alg }, {}, signed))
      expect([alg, isJwsSignedBy(jws, publicKey)]).toEqual([alg, jose.includes(alg)])
    }
  })

  it('is by its own key, and by that of no other algorithm', async () => {
    const data = Buffer.from('data')
    for (const other of others) {
      const signature = await createSigner(other.privateKey, []).sign(data)
      expect(verifySignature(other.publicKey, data, signature)).toBe(true)
      expect(verifySignature(publicKey, data, signature)).toBe(false)
      expect(verifySignature(other.publicKey, data, await signed(data))).toBe(false)
    }
  })

  it('is of one length, and over every bit of data and signature', async () => {
    const data = Buffer.from('some bytes that are signed')
    const good = Buffer.from(await signed(data))
    const inDer = digest === undefined ? Buffer.alloc(70) : sign(digest, data, privateKey)
    for (const wrong of [
      Buffer.alloc(0),
      Buffer.alloc(2 * size),
      good.subarray(1),
      good.subarray(0, -1),
      Buffer.concat([good, Buffer.alloc(1)]),
      Buffer.concat([Buffer.alloc(1), good]),
      inDer,
    ]) {
      expect(verifySignature(publicKey, data, wrong)).toBe(false)
    }
    const flipped = (bytes: Buffer, at: number, bit: number) => {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ (1 << bit)
      return changed
    }
    fc.assert(
      fc.property(fc.nat(data.length - 1), fc.nat(good.length - 1), fc.nat(7), (at, inSignature, bit) => {
        expect(verifySignature(publicKey, flipped(data, at, bit), good)).toBe(false)
        expect(verifySignature(publicKey, data, flipped(good, inSignature, bit))).toBe(false)
      }),
      { numRuns: 30 },
    )
  })
})

it('verifies the example of RFC 8037 appendix A.4', () => {
  const signed = Buffer.from('eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc')
  const signature = Buffer.from(
    'hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg',
    'base64url',
  )
  const key = importPublicKey({ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' })
  expect(verifySignature(key, signed, signature)).toBe(true)
})

it('takes no Ed25519 signature whose second half is above the order: it could be written in two ways', async () => {
  const pair = await promisify(generateKeyPair)('ed25519')
  const data = Buffer.from('data')
  const good = Buffer.from(await createSigner(pair.privateKey, []).sign(data))
  const order = 2n ** 252n + 27742317777372353535851937790883648493n
  const littleEndian = (bytes: Buffer) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
  const above = (littleEndian(good.subarray(32)) + order).toString(16).padStart(64, '0')
  const second = Buffer.concat([good.subarray(0, 32), Buffer.from(above, 'hex').reverse()])
  expect(verifySignature(pair.publicKey, data, good)).toBe(true)
  expect(verifySignature(pair.publicKey, data, second)).toBe(false)
})
