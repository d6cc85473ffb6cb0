/**
 * Signs the responses of components with Ed25519. The key is generated when the engine starts; the identity of the
 * engine endorses it.
 */
import { generateKeyPair, sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { Address } from '../offchain/address.ts'
import {
  type Endorsement,
  endorse,
  type ResponseParts,
  responseSignatureInput,
  writeEngineSignature,
} from '../offchain/response-signature.ts'

export interface ResponseSigner {
  readonly endorsement: Endorsement
  /** Returns the value of `x-engine-signature` for a response. */
  sign(parts: Omit<ResponseParts, 'chainId' | 'engine' | 'time'>): string
}

/** Generates the key of the responses, and endorses it with the private key of the engine. */
export async function createResponseSigner(
  privateKey: Uint8Array,
  chainId: string,
  engine: Address,
  now: () => Date,
): Promise<ResponseSigner> {
  const pair = await promisify(generateKeyPair)('ed25519')
  // The last 32 bytes of the SPKI structure are the key (RFC 8410).
  const publicKey = new Uint8Array(pair.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32))
  return {
    endorsement: endorse({ chainId, engine, publicKey, issuedAt: now().getTime() }, privateKey),
    sign: (parts) => {
      const time = now().getTime()
      const signature = sign(null, responseSignatureInput({ ...parts, chainId, engine, time }), pair.privateKey)
      return writeEngineSignature({ publicKey, time, signature })
    },
  }
}
