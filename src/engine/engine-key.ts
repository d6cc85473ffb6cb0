/**
 * The identity of an engine: a secp256k1 key, from which its address, its storage keys and its endorsement are derived.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { malformed } from '../codec/malformed.ts'
import { deriveSecret, kindOf, privateScalar, readAnyPrivateKey } from '../keys/file-signer.ts'
import type { Address } from '../offchain/address.ts'

export interface Identity {
  /** The private key, of 32 bytes. */
  readonly privateKey: Uint8Array
  readonly key: KeyObject
}

/**
 * Reads the key of an engine from a PEM text. Throws a MalformedError that names the type when the key is of another
 * type.
 */
export function readIdentity(pem: string): Identity {
  const key = readAnyPrivateKey(pem)
  const kind = kindOf(key)
  if (kind !== 'secp256k1') malformed(`it holds a key of type ${kind}; an engine signs transactions with secp256k1`)
  return { key, privateKey: privateScalar(key) }
}

/** Derives the key that encrypts the values of components, so that the database alone does not reveal them. */
export function storageEncryptionKey({ key }: Identity): Uint8Array {
  return deriveSecret(key, 'engine database').export()
}

/**
 * Makes the function that derives the id of a stored value, a MAC. Without the engine's key nobody can test whether a
 * value under a guessed name exists.
 */
export function storageIdsOf({ key }: Identity): (contract: Address, bucket: Uint8Array, name: Uint8Array) => string {
  const secret = deriveSecret(key, 'engine storage ids')
  return (contract, bucket, name) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bucket.length)
    return createHmac('sha256', secret).update(contract).update(length).update(bucket).update(name).digest('base64url')
  }
}
