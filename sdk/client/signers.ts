/** Signers of requests to engines: a key that the application holds, or a wallet that asks its owner. */
import { hexToBytes } from '@noble/hashes/utils.js'
import { type Address, evmAddress, parseAddress } from '../../src/offchain/address.ts'
import { typedData } from '../../src/offchain/authentication/eip712.ts'
import { authorizationOf, requestFields, signRequest } from '../../src/offchain/authentication/offchain-v2.ts'
import { accountOfKey } from '../../src/offchain/authentication/recover.ts'
import { signSecp256k1 } from '../../src/offchain/authentication/secp256k1.ts'
import type { Recipient } from '../../src/offchain/authentication/signed-request.ts'
import type { HttpRequestData } from '../../src/offchain/http-data.ts'

/** The inputs of a signature beside the request. */
export interface SigningInputs {
  readonly now: Date
  readonly random: (bytes: number) => Uint8Array
}

/** Makes the value of `authorization` for one engine and one attempt. */
export interface RequestSigner {
  readonly address: Address
  authorize(request: HttpRequestData, recipient: Recipient, inputs: SigningInputs): Promise<string>
  /**
   * The time for which an authorization is good, of a signer that asks a person each time. The person is not asked
   * while an engine is only behind the chain, nor again while it only says that it did nothing.
   */
  readonly personalLifeMs?: number
}

/** The part of EIP-1193 that is needed. */
export interface Eip1193Provider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

/**
 * The lifetime of a signature: long enough for a slow upload; a request that was caught on its way is of no use for
 * longer.
 */
const LIFE_MS = 120_000
const NONCE_BYTES = 16

/** Makes a signer with a private key of 32 bytes; `secp256k1` is for engines that know nothing newer. */
export function keySigner(
  key: Uint8Array,
  addresses: 'evm' | 'partisia',
  profile: 'offchain-v2' | 'secp256k1' = 'offchain-v2',
): RequestSigner {
  return {
    address: accountOfKey(key, addresses),
    authorize: (request, recipient, inputs) =>
      Promise.resolve(
        profile === 'secp256k1'
          ? signSecp256k1(request, recipient, { key, now: inputs.now })
          : signRequest(fieldsOf(request, recipient, inputs), 'sha256', key),
      ),
  }
}

/**
 * Makes a signer that asks a wallet, which shows its owner what is signed. `account` is one of those that the wallet
 * gives by `eth_requestAccounts`.
 */
export function walletSigner(provider: Eip1193Provider, account: string): RequestSigner {
  const address = parseAddress(account)
  return {
    address,
    personalLifeMs: LIFE_MS,
    authorize: async (request, recipient, inputs) => {
      const fields = fieldsOf(request, recipient, inputs)
      const params = [evmAddress(address), JSON.stringify(typedData(fields))]
      const signature = await provider.request({ method: 'eth_signTypedData_v4', params })
      if (typeof signature !== 'string' || !/^0x[0-9a-f]{130}$/i.test(signature)) {
        throw new TypeError('the wallet gave no signature of 65 bytes')
      }
      return authorizationOf(fields, 'eip712', hexToBytes(signature.slice(2).toLowerCase()))
    },
  }
}

function fieldsOf(request: HttpRequestData, recipient: Recipient, { now, random }: SigningInputs) {
  const issuedAt = now.getTime()
  const life = { issuedAt, expiresAt: issuedAt + LIFE_MS, nonce: Uint8Array.from(random(NONCE_BYTES)) }
  const fields = requestFields(request, recipient, life)
  if (fields === undefined) throw new TypeError('a signed request has one content type at most')
  return fields
}
