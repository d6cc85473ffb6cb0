/** What an engine keeps of keys in its storage. It leaves the engine in no other way than encrypted, and most of it never. */
import type { DKG_Secret, FrostPublic, FrostSecret } from '@noble/curves/abstract/frost.js'
import type { Context } from 'vouchsafe/component'
import { fromHex, toHex } from '../bytes.ts'

/** While a key is being made: its secrets, and what was published of them. */
export interface Generation {
  /** X25519, private. */
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
  readonly secret: FrostSecret
  readonly public: FrostPublic
}

const GENERATIONS = 'GENERATIONS'
const SHARES = 'KEY-SHARES'

export function loadGeneration(id: bigint, context: Context): Generation | undefined {
  return load(GENERATIONS, id, context) as Generation | undefined
}

export function storeGeneration(id: bigint, generation: Generation, context: Context): void {
  store(GENERATIONS, id, generation, context)
}

/** Its secrets are of no use any more, once the share is there. */
export function forgetGeneration(id: bigint, context: Context): void {
  context.storage(GENERATIONS).delete(String(id))
}

export function loadKeyShare(id: bigint, context: Context): KeyShare | undefined {
  return load(SHARES, id, context) as KeyShare | undefined
}

export function storeKeyShare(id: bigint, share: KeyShare, context: Context): void {
  store(SHARES, id, share, context)
}

export function forgetKeyShare(id: bigint, context: Context): void {
  context.storage(SHARES).delete(String(id))
}

/** As the library has it before its second round. It is changed by what it is given to. */
export function dkgSecret({ identifier, coefficients, commitment, threshold, engines }: Generation): DKG_Secret {
  return {
    identifier,
    coefficients: [...coefficients],
    commitment: commitment.map((point) => point.slice()),
    signers: { min: threshold, max: engines },
    step: 1,
  }
}

function load(bucket: string, id: bigint, context: Context): unknown {
  const stored = context.storage(bucket).get(String(id))
  return stored && JSON.parse(new TextDecoder().decode(stored), revive)
}

function store(bucket: string, id: bigint, value: unknown, context: Context): void {
  context.storage(bucket).set(String(id), new TextEncoder().encode(JSON.stringify(value, replace)))
}

/** Bytes and large numbers have no form of their own in JSON. */
export function replace(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${toHex(value)}`
  return typeof value === 'bigint' ? `number ${value}` : value
}

export function revive(_: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (value.startsWith('bytes ')) return fromHex(value.slice(6))
  return value.startsWith('number ') ? BigInt(value.slice(7)) : value
}
