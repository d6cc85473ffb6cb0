/**
 * The fields of `offchain-v2` as typed data, so that a wallet shows what it signs. EIP-712; what is here is the
 * encoding of one type, whose members all have a length of their own or are hashed.
 */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes } from '@noble/hashes/utils.js'
import { addressBytes, evmAddress } from '../address.ts'
import type { RequestFields } from './signed-request.ts'

const NAME = 'Vouchsafe off-chain request'
const VERSION = '2'

const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'
const REQUEST_MEMBERS = [
  { name: 'engine', type: 'address' },
  { name: 'method', type: 'string' },
  { name: 'target', type: 'string' },
  { name: 'bodyDigest', type: 'bytes32' },
  { name: 'contentType', type: 'string' },
  { name: 'issuedAt', type: 'uint64' },
  { name: 'expiresAt', type: 'uint64' },
  { name: 'nonce', type: 'bytes16' },
] as const
const REQUEST_TYPE = `OffChainRequest(${REQUEST_MEMBERS.map(({ name, type }) => `${type} ${name}`).join(',')})`

/**
 * Returns the typed data that `eth_signTypedData_v4` takes. `bodyDigest` is SHA-256 of the body, and times are in
 * milliseconds.
 */
export function typedData(fields: RequestFields) {
  return {
    domain: { name: NAME, version: VERSION, chainId: fields.chainId, verifyingContract: evmAddress(fields.contract) },
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ],
      OffChainRequest: REQUEST_MEMBERS,
    },
    primaryType: 'OffChainRequest' as const,
    message: {
      engine: evmAddress(fields.engine),
      method: fields.method,
      target: fields.target,
      bodyDigest: `0x${bytesToHex(fields.bodyDigest)}`,
      contentType: fields.contentType,
      issuedAt: String(fields.issuedAt),
      expiresAt: String(fields.expiresAt),
      nonce: `0x${bytesToHex(fields.nonce)}`,
    },
  } as const
}

/** Tests whether a domain can name this chain: by its number. */
export function hasTypedData(chain: { readonly id: string; readonly addresses: 'evm' | 'partisia' }): boolean {
  return chain.addresses === 'evm' && /^\d{1,77}$/.test(chain.id)
}

/** Returns keccak-256 of 1901, the domain and the request, for chains that {@link hasTypedData}. */
export function typedDataDigest(fields: RequestFields): Uint8Array {
  const domain = [textHash(DOMAIN_TYPE), textHash(NAME), textHash(VERSION), encodeNumber(BigInt(fields.chainId))]
  const request = [
    ...[textHash(REQUEST_TYPE), padWord(addressBytes(fields.engine)), textHash(fields.method), textHash(fields.target)],
    ...[fields.bodyDigest, textHash(fields.contentType), encodeNumber(BigInt(fields.issuedAt))],
    ...[encodeNumber(BigInt(fields.expiresAt)), concatBytes(fields.nonce, new Uint8Array(16))],
  ]
  const domainHash = keccak_256(concatBytes(...domain, padWord(addressBytes(fields.contract))))
  return keccak_256(concatBytes(Uint8Array.of(0x19, 0x01), domainHash, keccak_256(concatBytes(...request))))
}

function textHash(text: string): Uint8Array {
  return keccak_256(new TextEncoder().encode(text))
}

/** Pads `bytes` on the left to 32 bytes. An address of 21 bytes has a zero before it. */
function padWord(bytes: Uint8Array): Uint8Array {
  return concatBytes(new Uint8Array(32 - bytes.length), bytes)
}

function encodeNumber(value: bigint): Uint8Array {
  return Uint8Array.from(value.toString(16).padStart(64, '0').match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}
