/** Holder keys, made before they are needed: making one costs about as much as all the signatures of a flow. */
import type { Signer } from '../src/keys/signer.ts'
import { newBareSigner } from '../test/support/order.ts'

const AT_ONCE = 64

export async function makeHolders(count: number): Promise<Signer[]> {
  const holders: Signer[] = []
  while (holders.length < count) {
    const missing = Math.min(AT_ONCE, count - holders.length)
    holders.push(...(await Promise.all(Array.from({ length: missing }, newBareSigner))))
  }
  return holders
}
