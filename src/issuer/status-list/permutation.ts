/**
 * A permutation of the numbers below a power of two, by a key: who does not have the key cannot tell from some of its
 * values where others lie. Counted through, it gives every number once, and never one twice.
 */
import { hash } from 'node:crypto'

/** Each half has gone through four of them; a balanced Feistel network is called pseudorandom from four in all. */
const ROUNDS = 8

/**
 * Where `counter` lies among the numbers below `size`, a power of two. An alternating Feistel network whose halves differ
 * by no more than a bit, its round function one SHA-256 of the key, the round and the other half.
 */
export function permuted(counter: number, size: number, key: Uint8Array): number {
  const bits = Math.log2(size)
  if (
    !Number.isInteger(bits) ||
    bits < 2 ||
    bits > 30 ||
    !Number.isInteger(counter) ||
    counter < 0 ||
    counter >= size
  ) {
    throw new RangeError('a permutation is of the numbers below a power of two')
  }
  const low = Math.ceil(bits / 2)
  const masks = [2 ** (bits - low) - 1, 2 ** low - 1] as const
  const data = Buffer.alloc(key.length + 5)
  data.set(key)
  const roundOf = (round: number, half: number): number => {
    data.writeUInt8(round, key.length)
    data.writeUInt32BE(half, key.length + 1)
    return hash('sha256', data, 'buffer').readUInt32BE(0)
  }
  let [high, rest] = [counter >>> low, counter & masks[1]]
  for (let round = 0; round < ROUNDS; round += 2) {
    high ^= roundOf(round, rest) & masks[0]
    rest ^= roundOf(round + 1, high) & masks[1]
  }
  return (high << low) | rest
}
