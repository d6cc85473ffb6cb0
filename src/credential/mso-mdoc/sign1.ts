/** Whether a key signed a COSE_Sign1. */
import type { KeyObject } from 'node:crypto'
import { type Sign1, signedBytes } from '../../codec/cose.ts'
import { type AlgorithmDetails, algorithmOf, algorithms } from '../../keys/algorithm.ts'
import { verifySignature } from '../../keys/signature.ts'

/** Whether it names the algorithm of `key` and its signature is by it. The caller chose the key; the header chooses nothing. */
export function isSign1By(sign1: Sign1, payload: Uint8Array, key: KeyObject): boolean {
  const algorithm = algorithmOf(key)
  if (algorithm === undefined) return false
  const { cose }: AlgorithmDetails = algorithms[algorithm]
  return (
    cose.some((number) => number === sign1.alg) &&
    verifySignature(key, signedBytes(sign1.protectedBytes, payload), sign1.signature)
  )
}
