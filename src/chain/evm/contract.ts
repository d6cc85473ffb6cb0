/**
 * Reads the answers of a contract about its off-chain component: `engines()` and `component()` of
 * components/OffChain.sol.
 */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { readOrUndefined } from '../../codec/malformed.ts'
import { removeTrailingSlashes } from '../../codec/url.ts'
import type { Address } from '../../offchain/address.ts'
import type { ListedEngine, OffChainContract } from '../chain.ts'
import { type AbiReader, createAbiReader } from './abi-reader.ts'

/** The selectors of the functions: the first four bytes of keccak-256 of each signature. */
export const selector = {
  engines: hexToBytes('cc6497a3'),
  component: hexToBytes('79a0f079'),
  contracts: hexToBytes('6c0f79b6'),
} as const

const MAX_ENGINES = 1000
const MAX_URL_BYTES = 2048
const MAX_CONTRACTS = 100_000

/**
 * Reads the answer of `engines()`. This and all functions of this file throw a MalformedError when the answer is
 * malformed.
 */
export function readEngines(answer: Uint8Array): readonly ListedEngine[] {
  const { length, elements } = createAbiReader(answer).array(0, MAX_ENGINES)
  return Array.from({ length }, (_, index) => readEngine(elements.at(index)))
}

/** Reads an engine. An endpoint that is not a URL is read as empty, so that it does not affect the other engines. */
function readEngine(engine: AbiReader): ListedEngine {
  const endpoint = readOrUndefined(() => engine.text(1, MAX_URL_BYTES)) ?? ''
  const isUrl = /^https?:\/\/[^\s]+$/.test(endpoint)
  return { address: engine.address(0), endpoint: isUrl ? removeTrailingSlashes(endpoint) : '' }
}

/** Reads the answer of `component()`. Returns undefined when the digest is all zeros, which stands for no component. */
export function readComponentReference(answer: Uint8Array): OffChainContract['component'] {
  const from = createAbiReader(answer)
  const sha256 = bytesToHex(from.word(0))
  const uri = from.text(1, MAX_URL_BYTES)
  return /^0+$/.test(sha256) ? undefined : { sha256, uri }
}

/**
 * Reads the answer of `contracts()` of a registry, the contracts that engines with that registry as their filter serve.
 */
export function readContracts(answer: Uint8Array): readonly Address[] {
  const { length, elements } = createAbiReader(answer).array(0, MAX_CONTRACTS)
  return Array.from({ length }, (_, index) => elements.address(index))
}
