/** Holder keys, made before they are needed: making one costs about as much as all the signatures of a flow. */
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { createSigner } from '../src/keys/file-signer.ts'
import type { Signer } from '../src/keys/signer.ts'

const AT_ONCE = 64

/** Makes a key without the synchronous generator, which can hang on Node 20. */
export async function makeSigner(): Promise<Signer> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  return createSigner(privateKey, [])
}

export async function makeHolders(count: number): Promise<Signer[]> {
  const holders: Signer[] = []
  while (holders.length < count) {
    const missing = Math.min(AT_ONCE, count - holders.length)
    holders.push(...(await Promise.all(Array.from({ length: missing }, makeSigner))))
  }
  return holders
}
