/** An order, a signer and a binding that the tests of all credential formats use. */
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { JsonObject } from '../../src/codec/json.ts'
import type { Order } from '../../src/credential/format.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { configurationOf } from './configuration.ts'

/** The values of a request that bind its presentations, and when these were made. */
export const orderBinding = {
  nonce: 'n',
  audience: 'a',
  recipient: { responseUri: 'https://verifier.example/response' },
  encryptionKeyThumbprint: undefined,
  transactionData: [],
  at: new Date('2026-06-01T12:00:00Z'),
}

/** Makes a key, and a signer of it without certificates. */
export async function newBareSigner(): Promise<Signer> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  return createSigner(privateKey, [])
}

/** Makes an order from the middle of a second, of a credential that is good for seven months. */
export function orderFor(configuration: JsonObject, dataset: JsonObject, holder: Signer): Order {
  return {
    configuration: configurationOf(configuration),
    dataset,
    issuer: 'https://issuer.example',
    holderKey: holder.jwk,
    issuedAt: new Date('2026-06-01T12:00:00.999Z'),
    expiresAt: new Date('2027-06-01T00:00:00Z'),
  }
}
