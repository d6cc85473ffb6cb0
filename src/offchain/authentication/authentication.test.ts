/** Both profiles in both directions, from vectors, and the recovery of keys by each library. */
import { createHash, createPublicKey, verify } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import vectors from '../../../test/vectors/offchain-authentication.json' with { type: 'json' }
import type { HttpRequestData } from '../http-data.ts'
import { authenticate } from './authenticate.ts'
import { typedDataDigest } from './eip712.ts'
import { loadRecovery } from './key-recovery.ts'
import { authorizationOf, requestFields, requestMessage, signRequest } from './offchain-v2.ts'
import { accountOfKey, type Recover, recoverInJavaScript } from './recover.ts'
import { secp256k1Message, signSecp256k1 } from './secp256k1.ts'
import type { RecoverableSignature } from './signed-request.ts'

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'))
const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex')

const recover = await loadRecovery()

type Vector = (typeof vectors.secp256k1)[number] | (typeof vectors)['offchain-v2'][number]

function requestOf({ method, uri, body, content_type: type }: Vector): HttpRequestData {
  return { method, uri, body: bytes(body), headers: type === '' ? [] : [{ name: 'Content-Type', values: [type] }] }
}

function recipientOf({ engine, contract, chain_id: id, addresses }: Vector) {
  return { engine, contract, chain: { id, addresses: addresses as 'evm' | 'partisia' } }
}

function answerTo(vector: Vector, now: number) {
  const request = requestOf(vector)
  const headers = [...request.headers, { name: 'Authorization', values: [vector.authorization] }]
  const addresses = [`00${'99'.repeat(20)}`, vector.signer]
  return authenticate(
    { ...recipientOf(vector), request: { ...request, headers }, now: new Date(now), addresses },
    recover,
  )
}

describe('the profile secp256k1', () => {
  it.each(vectors.secp256k1)('signs as existing clients do: $note', (vector) => {
    const [request, recipient] = [requestOf(vector), recipientOf(vector)]
    const message = secp256k1Message(request, recipient, vector.timestamp)
    expect(Buffer.from(message).toString('hex')).toBe(vector.message)
    expect(sha256(message)).toBe(vector.digest)
    const signer = { key: bytes(vector.private_key), now: new Date(vector.timestamp) }
    expect(signSecp256k1(request, recipient, signer)).toBe(vector.authorization)
  })

  it.each(vectors.secp256k1)('knows who signed: $note', (vector) => {
    expect(answerTo(vector, vector.timestamp + 60_000)).toEqual({
      address: vector.signer,
      id: vector.digest,
      until: new Date(vector.timestamp + 60_001),
      profile: 'secp256k1',
    })
    expect(answerTo(vector, vector.timestamp - 30_000)?.address).toBe(vector.signer)
  })

  it('has the vector that was published', () => {
    const [published] = vectors.secp256k1
    expect(published?.signer).toBe('00b2e734b5d8da089318d0d2b076c19f59c450855a')
    expect(published?.digest).toBe('93a1c56a6e99cdbfd6172743522c1d85d6067ca2b89b67e47dea654b2ff95799')
    expect(published?.authorization).toBe(
      'secp256k1 01b4742f1da80bb360379ddaaa005e34211588be903d96ba0759fe75ed0de1bf15400717c52bd5c3859320758f0a22c9799c918d50df7566246db3fd81660d21f5 1700000000000',
    )
  })
})

describe('the profile offchain-v2', () => {
  it.each(vectors['offchain-v2'])('signs by $scheme: $note', (vector) => {
    const life = { issuedAt: vector.issued_at, expiresAt: vector.expires_at, nonce: bytes(vector.nonce) }
    const fields = requestFields(requestOf(vector), recipientOf(vector), life)
    if (fields === undefined) throw new Error('no fields')
    expect(Buffer.from(requestMessage(fields)).toString('hex')).toBe(vector.message)
    expect(sha256(bytes(vector.message))).toBe(vector.id)
    if (vector.scheme === 'eip712') expect(Buffer.from(typedDataDigest(fields)).toString('hex')).toBe(vector.digest)
    else expect(vector.digest).toBe(vector.id)
    const scheme = vector.scheme === 'eip712' ? 'eip712' : 'sha256'
    expect(signRequest(fields, scheme, bytes(vector.private_key))).toBe(vector.authorization)
  })

  it.each(vectors['offchain-v2'])('knows who signed by $scheme: $note', (vector) => {
    const accepted = {
      address: vector.signer,
      id: vector.id,
      until: new Date(vector.expires_at),
      profile: 'offchain-v2',
    }
    expect(answerTo(vector, vector.expires_at - 1)).toEqual(accepted)
    expect(answerTo(vector, vector.issued_at - 30_000)).toEqual(accepted)
  })

  it.each(vectors['offchain-v2'])('signs the bytes that its description says: $note', (vector) => {
    const tag = createHash('sha256').update('vouchsafe/offchain-request').digest()
    const text = (value: string) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(Buffer.byteLength(value))
      return Buffer.concat([length, Buffer.from(value)])
    }
    const time = (value: number) => Buffer.from(BigInt(value).toString(16).padStart(16, '0'), 'hex')
    const parts = [
      ...[tag, tag, Buffer.of(2), text(vector.chain_id), bytes(vector.contract), bytes(vector.engine)],
      ...[text(vector.method), text(vector.uri), bytes(sha256(bytes(vector.body))), text(vector.content_type)],
      ...[time(vector.issued_at), time(vector.expires_at), bytes(vector.nonce)],
    ]
    expect(Buffer.concat(parts).toString('hex')).toBe(vector.message)
  })

  it('takes the signature of a wallet that counts recovery from 0', () => {
    const [vector] = vectors['offchain-v2']
    if (vector === undefined) throw new Error('no vector')
    const written = vector.authorization.split(' ').at(-1) ?? ''
    const signature = bytes(written.slice(0, 128) + (written.endsWith('1b') ? '00' : '01'))
    const life = { issuedAt: vector.issued_at, expiresAt: vector.expires_at, nonce: bytes(vector.nonce) }
    expect(authorizationOf(life, 'sha256', signature)).toBe(vector.authorization)
  })
})

const requests = fc.record({
  method: fc.constantFrom('GET', 'PUT', 'POST', 'DELETE', 'PROPFIND'),
  uri: fc.string({ unit: 'binary' }).map((text) => `/${text}`),
  body: fc.uint8Array({ maxLength: 200 }),
})
const keys = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((key) => key.with(0, 0x7f))
const addresses = fc.uint8Array({ minLength: 21, maxLength: 21 }).map((raw) => Buffer.from(raw).toString('hex'))

describe('both profiles', () => {
  it('accept whatever was signed, and nothing of it for somebody else', () => {
    fc.assert(
      fc.property(
        requests,
        keys,
        addresses,
        addresses,
        fc.boolean(),
        ({ ...request }, key, engine, contract, isEvm) => {
          const chain = { id: '5', addresses: isEvm ? 'evm' : 'partisia' } as const
          const [recipient, now] = [{ engine, contract, chain }, new Date(1_700_000_000_000)]
          const signer = accountOfKey(key, chain.addresses)
          const life = { issuedAt: now.getTime(), expiresAt: now.getTime() + 300_000, nonce: key.slice(0, 16) }
          const fields = requestFields({ ...request, headers: [] }, recipient, life)
          if (fields === undefined) throw new Error('no fields')
          const signed = [
            signSecp256k1(request, recipient, { key, now }),
            signRequest(fields, 'sha256', key),
            ...(isEvm ? [signRequest(fields, 'eip712', key)] : []),
          ]
          for (const authorization of signed) {
            const headers = [{ name: 'authorization', values: [authorization] }]
            const input = { ...recipient, request: { ...request, headers }, now }
            expect(authenticate({ ...input, addresses: [signer] }, recover)?.address).toBe(signer)
            expect(authenticate({ ...input, addresses: [] }, recover)).toBeUndefined()
            expect(authenticate({ ...input, addresses: [engine, contract] }, recover)).toBeUndefined()
          }
        },
      ),
      { numRuns: 30 },
    )
  })

  it('never throw, whatever the header is', () => {
    const hex = fc.stringMatching(/^[0-9a-fA-F]{0,140}$/)
    const word = fc.oneof(
      hex,
      fc.string(),
      fc.constantFrom('secp256k1', 'offchain-v2', 'sha256', 'eip712', '1700000000000'),
    )
    const values = fc.array(
      fc.array(word, { maxLength: 7 }).map((words) => words.join(' ')),
      { maxLength: 2 },
    )
    const [engine, contract, chain] = ['00'.repeat(21), '02'.repeat(21), { id: 'x', addresses: 'evm' } as const]
    fc.assert(
      fc.property(values, (header) => {
        const headers = [{ name: 'Authorization', values: header }]
        const request = { method: 'GET', uri: '/', body: new Uint8Array(), headers }
        const now = new Date(1_700_000_000_000)
        expect(authenticate({ engine, contract, chain, request, now, addresses: [engine] }, recover)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })
})

describe('the recovery of keys', () => {
  it('is the same in WebAssembly as in JavaScript, for any bytes', () => {
    const digests = fc.uint8Array({ minLength: 32, maxLength: 32 })
    const edge = fc.constantFrom(
      ...['00'.repeat(64), 'ff'.repeat(64), `${'00'.repeat(31)}01${'00'.repeat(31)}01`],
      // r or s is the order of the group, or s its half, or one more.
      `fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141${'00'.repeat(31)}01`,
      `${'00'.repeat(31)}017fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0`,
      `${'00'.repeat(31)}017fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1`,
    )
    const compact = fc.oneof(fc.uint8Array({ minLength: 64, maxLength: 64 }), edge.map(bytes))
    const signatures = fc.record({ compact, recovery: fc.constantFrom<0 | 1>(0, 1) })
    const hex = (by: Recover, digest: Uint8Array, signature: RecoverableSignature) => {
      const key = by(digest, signature)
      return key && Buffer.from(key).toString('hex')
    }
    fc.assert(
      fc.property(digests, signatures, (digest, signature) => {
        expect(hex(recover, digest, signature)).toBe(hex(recoverInJavaScript, digest, signature))
      }),
      { numRuns: 150 },
    )
  })

  const ways = [
    ['in JavaScript', recoverInJavaScript],
    ['in WebAssembly', recover],
  ] as const

  it.each(ways)('takes neither a digest nor a signature of another length: %s', (_, recoverBy) => {
    const [digest, compact] = [
      new Uint8Array(32).fill(1),
      bytes(vectors.secp256k1[0]?.authorization.slice(12, 140) ?? ''),
    ]
    expect(recoverBy(digest, { compact, recovery: 0 })).toHaveLength(65)
    for (const length of [0, 31, 33, 73]) {
      expect(recoverBy(new Uint8Array(length).fill(1), { compact, recovery: 0 })).toBeUndefined()
    }
    for (const length of [0, 63, 65, 73]) {
      const other = new Uint8Array(length)
      other.set(compact.subarray(0, length))
      expect(recoverBy(digest, { compact: other, recovery: 0 })).toBeUndefined()
    }
  })

  it.each(ways)('gives the key that node:crypto verifies the signature with: %s', (_, recoverBy) => {
    const [vector] = vectors.secp256k1
    if (vector === undefined) throw new Error('no vector')
    const signature = vector.authorization.split(' ')[1] ?? ''
    const compact = bytes(signature.slice(2))
    const key = recoverBy(bytes(vector.digest), { compact, recovery: signature.startsWith('01') ? 1 : 0 })
    const [x = '', y = ''] = [key?.subarray(1, 33) ?? [], key?.subarray(33) ?? []].map((half) =>
      Buffer.from(half).toString('base64url'),
    )
    const jwk = { kty: 'EC', crv: 'secp256k1', x, y }
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
    expect(verify('sha256', bytes(vector.message), { key: publicKey, dsaEncoding: 'ieee-p1363' }, compact)).toBe(true)
  })
})
