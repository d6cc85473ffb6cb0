/**
 * The store of the wallet in the page: its texts and keys, in the database of the browser. The private keys are
 * WebCrypto's and not extractable: scripts of the page can sign with them, and cannot read them.
 */
import { isObject, stringMemberOf } from '../../src/codec/json.ts'
import { malformed } from '../../src/codec/malformed.ts'
import { type PublicJwk, readPublicJwk, thumbprint } from '../../src/keys/jwk.ts'
import { type Algorithm, algorithms } from '../../src/keys/signature.ts'
import type { Signer } from '../../src/keys/signer.ts'
import type { HolderKeys, WalletStore } from '../../src/wallet/context.ts'

const NAME = 'vouchsafe-wallet'
const HASHES = { ES256: 'SHA-256', ES384: 'SHA-384', ES512: 'SHA-512', EdDSA: '' } as const

type ObjectStoreName = 'texts' | 'keys'

interface KeptKey {
  readonly alg: Algorithm
  readonly jwk: PublicJwk
  readonly privateKey: CryptoKey
}

export interface BrowserStore extends WalletStore {
  /** Deletes every credential and key. */
  empty(): Promise<void>
}

export async function openBrowserStore(): Promise<BrowserStore> {
  const opening = indexedDB.open(NAME, 1)
  opening.onupgradeneeded = () => {
    for (const name of ['texts', 'keys'] satisfies ObjectStoreName[]) opening.result.createObjectStore(name)
  }
  const database = await resultOf(opening)
  const storeOf = (name: ObjectStoreName, mode: IDBTransactionMode) =>
    database.transaction(name, mode).objectStore(name)
  return {
    list: async () => (await resultOf(storeOf('texts', 'readonly').getAllKeys())).map(String),
    read: async (name) => String(await resultOf(storeOf('texts', 'readonly').get(name))),
    write: async (name, text) => {
      await resultOf(storeOf('texts', 'readwrite').put(text, name))
    },
    remove: async (name) => {
      await resultOf(storeOf('texts', 'readwrite').delete(name))
    },
    keys: keysOn(storeOf),
    empty: async () => {
      for (const name of ['texts', 'keys'] satisfies ObjectStoreName[])
        await resultOf(storeOf(name, 'readwrite').clear())
    },
  }
}

function keysOn(storeOf: (name: ObjectStoreName, mode: IDBTransactionMode) => IDBObjectStore): HolderKeys {
  return {
    make: async (alg) => {
      const pair = (await crypto.subtle.generateKey(kindOf(alg), false, ['sign', 'verify'])) as CryptoKeyPair
      const jwk = readPublicJwk(pickPublicMembers(await crypto.subtle.exportKey('jwk', pair.publicKey)))
      const kid = thumbprint(jwk)
      const keyEntry: KeptKey = { alg, jwk, privateKey: pair.privateKey }
      await resultOf(storeOf('keys', 'readwrite').put(keyEntry, kid))
      return { signer: signerOf(keyEntry, kid), keyRecord: { kid } }
    },
    open: async (reference) => {
      const kid = stringMemberOf(reference, 'kid') ?? malformed('its key is not one of this browser')
      const keyEntry: unknown = await resultOf(storeOf('keys', 'readonly').get(kid))
      if (!isObject(keyEntry)) return malformed('its key is not in this browser')
      return signerOf(keyEntry as unknown as KeptKey, kid)
    },
  }
}

function signerOf({ alg, jwk, privateKey }: KeptKey, kid: string): Signer {
  const algorithm = alg === 'EdDSA' ? { name: 'Ed25519' } : { name: 'ECDSA', hash: HASHES[alg] }
  return {
    alg,
    jwk,
    kid,
    x5c: [],
    sign: async (data) => new Uint8Array(await crypto.subtle.sign(algorithm, privateKey, new Uint8Array(data))),
  }
}

function kindOf(alg: Algorithm): EcKeyGenParams | { readonly name: 'Ed25519' } {
  return alg === 'EdDSA' ? { name: 'Ed25519' } : { name: 'ECDSA', namedCurve: algorithms[alg].crv }
}

/** Returns the members of the key itself, without those about its use. */
function pickPublicMembers({ kty, crv, x, y }: JsonWebKey): object {
  return { kty, crv, x, ...(y !== undefined && { y }) }
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('the database of the browser does not answer'))
  })
}
