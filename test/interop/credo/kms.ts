/**
 * Credo's key management service on node:crypto, in memory: P-256 for signatures and for the key agreement of a JWE.
 */
import {
  createCipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPair,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  randomUUID,
  sign,
  verify,
} from 'node:crypto'
import { promisify } from 'node:util'

interface Operation {
  readonly operation: string
  readonly algorithm?: string
  readonly type?: { readonly kty: string; readonly crv: string }
  readonly encryption?: { readonly algorithm: string }
}

interface EncryptOptions {
  readonly key: {
    readonly keyAgreement: {
      readonly keyId: string
      readonly externalPublicJwk: JsonWebKey
      readonly apu?: Uint8Array
      readonly apv?: Uint8Array
    }
  }
  readonly data: Uint8Array
  readonly encryption: { readonly algorithm: 'A128GCM' | 'A256GCM'; readonly aad: Uint8Array }
}

interface VerifyOptions {
  readonly key: { readonly keyId?: string; readonly publicJwk?: JsonWebKey }
  readonly data: Uint8Array
  readonly signature: Uint8Array
}

const BITS = { A128GCM: 128, A256GCM: 256 } as const
const ALGORITHM = { dsaEncoding: 'ieee-p1363' } as const

export function memoryKms(): object {
  const keys = new Map<string, { readonly privateKey: KeyObject; readonly publicJwk: JsonWebKey }>()
  const keyOf = (keyId: string) => {
    const key = keys.get(keyId)
    if (key === undefined) throw new Error(`no key ${keyId}`)
    return key
  }
  return {
    backend: 'memory',
    isOperationSupported: (_: unknown, { operation, algorithm, type, encryption }: Operation): boolean => {
      if (operation === 'createKey') return type?.crv === 'P-256'
      if (operation === 'sign' || operation === 'verify') return algorithm === 'ES256'
      if (operation === 'encrypt') return Object.hasOwn(BITS, encryption?.algorithm ?? '')
      return operation === 'deleteKey' || operation === 'randomBytes'
    },
    getPublicKey: (_: unknown, keyId: string) => Promise.resolve(keys.get(keyId)?.publicJwk ?? null),
    createKey: async (_: unknown, { keyId = randomUUID() }: { readonly keyId?: string }) => {
      const pair = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
      // Exporting a generated key as a JWK can hang on Node 20; one that was read in cannot.
      const privateKey = createPrivateKey(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }))
      const publicJwk = { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid: keyId }
      keys.set(keyId, { privateKey, publicJwk })
      return { keyId, publicJwk }
    },
    deleteKey: (_: unknown, { keyId }: { readonly keyId: string }) => Promise.resolve(keys.delete(keyId)),
    sign: (_: unknown, { keyId, data }: { readonly keyId: string; readonly data: Uint8Array }) =>
      Promise.resolve({
        signature: new Uint8Array(sign('sha256', data, { key: keyOf(keyId).privateKey, ...ALGORITHM })),
      }),
    verify: (_: unknown, { key: { keyId = '', publicJwk }, data, signature }: VerifyOptions) => {
      const jwk = publicJwk ?? keyOf(keyId).publicJwk
      const key = createPublicKey({ key: jwk, format: 'jwk' })
      const verified = verify('sha256', data, { key, ...ALGORITHM }, signature)
      return Promise.resolve(verified ? { verified, publicJwk: jwk } : { verified })
    },
    encrypt: (_: unknown, { key: { keyAgreement }, data, encryption }: EncryptOptions) => {
      const publicKey = createPublicKey({ key: keyAgreement.externalPublicJwk, format: 'jwk' })
      const secret = diffieHellman({ privateKey: keyOf(keyAgreement.keyId).privateKey, publicKey })
      const bits = BITS[encryption.algorithm]
      const key = concatKdf(secret, encryption.algorithm, bits, keyAgreement)
      const iv = randomBytes(12)
      const cipher = createCipheriv(bits === 128 ? 'aes-128-gcm' : 'aes-256-gcm', key, iv).setAAD(encryption.aad)
      const encrypted = Buffer.concat([cipher.update(data), cipher.final()])
      return Promise.resolve({ encrypted, iv, tag: cipher.getAuthTag() })
    },
    randomBytes: (_: unknown, { length }: { readonly length: number }) => new Uint8Array(randomBytes(length)),
  }
}

/** Derives at most 256 bits, for which one round suffices. RFC 7518 section 4.6.2. */
function concatKdf(
  secret: Uint8Array,
  algorithm: string,
  bits: number,
  { apu = new Uint8Array(), apv = new Uint8Array() }: EncryptOptions['key']['keyAgreement'],
): Buffer {
  const number = (value: number) => Buffer.from(Uint32Array.of(value).buffer).swap32()
  const sized = (bytes: Uint8Array) => Buffer.concat([number(bytes.length), bytes])
  return createHash('sha256')
    .update(Buffer.concat([number(1), secret, sized(Buffer.from(algorithm)), sized(apu), sized(apv), number(bits)]))
    .digest()
    .subarray(0, bits / 8)
}
