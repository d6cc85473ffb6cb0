/** The messages between engines through the contract while they make a key, in bytes. All lengths are known. */
import { concat } from '../bytes.ts'

const WORD = 32
const PROOF = 64

/** Round 1 of one engine, which everybody reads. */
export interface Round1 {
  /**
   * The X25519 key that shares for this engine are encrypted to. It is made for one key, and gone when that is made.
   */
  readonly encryptionKey: Uint8Array
  /** The commitments to the coefficients of the engine's polynomial, of which there are as many as the threshold. */
  readonly commitment: readonly Uint8Array[]
  /**
   * A Schnorr signature by the first coefficient: nobody can commit to what was computed from the commitments of
   * others.
   */
  readonly proofOfKnowledge: Uint8Array
}

export function writeRound1({ encryptionKey, commitment, proofOfKnowledge }: Round1): Uint8Array {
  return concat([encryptionKey, ...commitment, proofOfKnowledge])
}

/** Reads a package of round 1. Throws when its length is not that of a threshold. The content is not checked. */
export function readRound1(bytes: Uint8Array, threshold: number): Round1 {
  if (bytes.length !== WORD * (threshold + 1) + PROOF) throw new Error('commitments have the wrong length')
  const commitment = Array.from({ length: threshold }, (_, at) => bytes.slice(WORD * (at + 1), WORD * (at + 2)))
  return { encryptionKey: bytes.slice(0, WORD), commitment, proofOfKnowledge: bytes.slice(-PROOF) }
}
