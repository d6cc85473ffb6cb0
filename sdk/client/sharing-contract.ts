/**
 * The contract of secret sharing on an EVM (components/secret-sharing/SecretSharing.sol): what a client asks and tells
 * it.
 */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { callData, list, uint } from '../../components/abi.ts'
import { type Block, isRefused } from '../../src/chain/chain.ts'
import { createAbiReader } from '../../src/chain/evm/abi-reader.ts'
import { malformed, readPart } from '../../src/codec/malformed.ts'
import type { Address } from '../../src/offchain/address.ts'
import type { ChainReader } from './engines.ts'
import { ClientError } from './errors.ts'

/** A sharing as the contract has it. Arrays are in the order of its engines. */
export interface Sharing {
  readonly owner: Address
  readonly threshold: number
  /** SHA-256 of each share. */
  readonly commitments: readonly Uint8Array[]
  /** The engines that say on the chain that they hold their share. */
  readonly uploaded: readonly boolean[]
  /** The time until which shares are given out; undefined when nobody asked for them. */
  readonly downloadDeadline: Date | undefined
  readonly deleting: boolean
}

const MAX_ENGINES = 255

/** The methods of the contract, each of which makes the payload of its call. `id` has 128 bits. */
export const sharingMethods = {
  registerSharing: (id: bigint, threshold: number, commitments: readonly Uint8Array[]): Uint8Array =>
    callData(selector('registerSharing(uint128,uint8,bytes32[])'), uint(id), uint(threshold), list(commitments)),
  requestDownload: (id: bigint): Uint8Array => callData(selector('requestDownload(uint128)'), uint(id)),
  deleteSharing: (id: bigint): Uint8Array => callData(selector('deleteSharing(uint128)'), uint(id)),
  sharing: (id: bigint): Uint8Array => callData(selector('sharing(uint128)'), uint(id)),
} as const

/**
 * Reads the sharing; returns undefined when there is none. Rejects with a ChainError when the chain cannot be asked, or
 * a {@link ClientError} when the contract holds no sharings.
 */
export async function readSharing(
  chain: ChainReader,
  contract: Address,
  id: bigint,
  block: Block,
): Promise<Sharing | undefined> {
  const answer = await chain.read(contract, sharingMethods.sharing(id), block).catch((error: unknown) => {
    throw isRefused(error) ? unknownContractError() : error
  })
  // Nothing at all is what an address without that method may answer.
  if (answer.length === 0) throw unknownContractError()
  return readPart('what the contract says of a sharing', () => parseSharing(answer))
}

function parseSharing(answer: Uint8Array): Sharing | undefined {
  const from = createAbiReader(answer)
  const owner = from.address(0)
  if (/^0+$/.test(owner)) return undefined
  const [commitments, uploaded] = [from.array(2, MAX_ENGINES), from.array(3, MAX_ENGINES)]
  if (commitments.length !== uploaded.length) malformed('it has another number of commitments than of engines')
  const deadline = from.number(4)
  return {
    owner,
    threshold: from.number(1),
    commitments: Array.from({ length: commitments.length }, (_, at) => Uint8Array.from(commitments.elements.word(at))),
    uploaded: Array.from({ length: uploaded.length }, (_, at) => uploaded.elements.number(at) !== 0),
    downloadDeadline: deadline === 0 ? undefined : new Date(deadline * 1000),
    deleting: from.number(5) !== 0,
  }
}

function unknownContractError(): ClientError {
  return new ClientError('unknown-contract', 'the contract at this address is not a SecretSharing contract')
}

function selector(signature: string): string {
  return bytesToHex(keccak_256(utf8ToBytes(signature)).subarray(0, 4))
}
