/**
 * The storage of an engine for keys: nothing in it leaves the engine otherwise than encrypted, and most of it never
 * does. Each row is found by the registration of its key alone, so that nothing is found where the chain took back
 * blocks and an id belongs to somebody else.
 */
import type { DKG_Secret, FrostPublic, FrostSecret } from '@noble/curves/abstract/frost.js'
import type { Context } from 'vouchsafe/component'
import { fromHex, toHex } from '../bytes.ts'

/** The secrets of a key while it is being made, and what was published of them. */
export interface Generation {
  /** The private X25519 key. */
  readonly encryptionKey: Uint8Array
  readonly identifier: bigint
  readonly coefficients: readonly bigint[]
  readonly commitment: readonly Uint8Array[]
  readonly threshold: number
  readonly engines: number
  /** The package of round 1, as it was published. */
  readonly published: Uint8Array
}

/** This engine's part of a key that is made. */
export interface KeyShare {
  /** The SHA-256 of what all engines published in round 1, from which the key was made. */
  readonly round1: Uint8Array
  readonly secret: FrostSecret
  readonly public: FrostPublic
}

const GENERATIONS = 'GENERATIONS'
const SHARES = 'KEY-SHARES'

export function loadGeneration(registration: Uint8Array, context: Context): Generation | undefined {
  return load(GENERATIONS, registration, context) as Generation | undefined
}

export function storeGeneration(registration: Uint8Array, generation: Generation, context: Context): void {
  store(GENERATIONS, registration, generation, context)
}

/** Deletes the secrets of a generation, which are of no use once the key is active. */
export function forgetGeneration(registration: Uint8Array, context: Context): void {
  context.storage(GENERATIONS).delete(registration)
}

/**
 * Loads the shares of a key: several, where the chain took back blocks in the middle, and the key was made again from
 * other commitments.
 */
export function loadKeyShares(registration: Uint8Array, context: Context): readonly KeyShare[] {
  return (load(SHARES, registration, context) ?? []) as readonly KeyShare[]
}

export function addKeyShare(registration: Uint8Array, share: KeyShare, context: Context): void {
  store(SHARES, registration, [...loadKeyShares(registration, context), share], context)
}

export function forgetKeyShares(registration: Uint8Array, context: Context): void {
  context.storage(SHARES).delete(registration)
}

/** Returns the public key that a share is of. */
export function groupKey({ public: { commitments } }: Pick<KeyShare, 'public'>): Uint8Array {
  const [first] = commitments
  if (first === undefined) throw new Error('a key has no commitments')
  return first
}

/** Makes the secret as the library has it before its second round. The function that gets the secret changes it. */
export function dkgSecret({ identifier, coefficients, commitment, threshold, engines }: Generation): DKG_Secret {
  return {
    identifier,
    coefficients: [...coefficients],
    commitment: commitment.map((point) => point.slice()),
    signers: { min: threshold, max: engines },
    step: 1,
  }
}

function load(bucket: string, registration: Uint8Array, context: Context): unknown {
  const stored = context.storage(bucket).get(registration)
  return stored && JSON.parse(new TextDecoder().decode(stored), revive)
}

function store(bucket: string, registration: Uint8Array, value: unknown, context: Context): void {
  context.storage(bucket).set(registration, new TextEncoder().encode(JSON.stringify(value, replace)))
}

/** Replaces bytes and large numbers, which JSON does not have, by texts. */
export function replace(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${toHex(value)}`
  return typeof value === 'bigint' ? `number ${value}` : value
}

export function revive(_: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (value.startsWith('bytes ')) return fromHex(value.slice(6))
  return value.startsWith('number ') ? BigInt(value.slice(7)) : value
}
