/**
 * The errors between a client and its engines. Messages name the engine and never have anything of a body in them: an
 * engine that fails may answer with the share that it was given.
 */
import type { ListedEngine } from '../../src/chain/chain.ts'
import { evmAddress } from '../../src/offchain/address.ts'

export type EngineErrorCode =
  /** There was no connection, or it broke. */
  | 'unreachable'
  | 'deadline'
  | 'redirected'
  | 'answer-too-large'
  /** `x-engine-signature` is wrong, or its key is not this engine's. */
  | 'bad-signature'
  /** A signature was required, and the answer has none. */
  | 'no-signature'
  /** The engine itself refused: {@link EngineError.problem} says why. */
  | 'engine-refused'
  /** The component answered with a status that was not hoped for. */
  | 'component-refused'
  | 'wrong-share'
  /** The contract names no URL for it, or none that a path can follow. */
  | 'no-endpoint'

export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly engine: ListedEngine
  readonly code: EngineErrorCode
  readonly status: number | undefined
  /** The code of `x-engine-error`. */
  readonly problem: string | undefined

  constructor(engine: ListedEngine, code: EngineErrorCode, details: EngineErrorDetails = {}) {
    super(`engine ${nameOf(engine)}: ${details.message ?? MESSAGES[code]}`)
    this.engine = engine
    this.code = code
    this.status = details.status
    this.problem = details.problem
  }
}

export interface EngineErrorDetails {
  readonly message?: string
  readonly status?: number
  readonly problem?: string
}

const MESSAGES: Readonly<Record<EngineErrorCode, string>> = {
  unreachable: 'it could not be reached',
  deadline: 'it did not answer in time',
  redirected: 'it sent us elsewhere, which a signed request does not follow',
  'answer-too-large': 'its answer is too large',
  'bad-signature': 'the signature of its answer is wrong',
  'no-signature': 'its answer is not signed',
  'engine-refused': 'it refused',
  'component-refused': 'its component refused',
  'wrong-share': 'the share that it gave is not the one that was committed to on the chain',
  'no-endpoint': 'the contract names no URL for it',
}

function nameOf({ address, endpoint }: ListedEngine): string {
  const name = address.startsWith('00') ? evmAddress(address) : address
  return endpoint === '' ? name : `${name} at ${printable(endpoint)}`
}

/** Replaces all but printable ASCII in a text of an engine or a contract, since a message may come to a terminal. */
export function printable(text: string): string {
  return text.replace(/[^ -~]/g, '?')
}

/**
 * Returns the code of an error that `fetch` rejects with, in brackets: its text may contain more than should be
 * repeated.
 */
export function systemCode(error: unknown): string {
  const code = (error as { cause?: { code?: unknown } } | undefined)?.cause?.code
  return typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? ` (${code})` : ''
}

export type ClientErrorCode =
  | 'bad-request'
  | 'unknown-contract'
  | 'unknown-sharing'
  | 'id-in-use'
  | 'not-owner'
  | 'incomplete-upload'
  | 'being-deleted'
  | 'too-few-shares'
  | 'mixed-shares'
  | 'refused-by-chain'
  /** The wallet is on another chain than the contract. */
  | 'other-chain'
  | 'timeout'

/**
 * An error that is not about one engine: about a contract, a transaction, or a sharing. `engines` has what each engine
 * did wrong, where engines are the reason.
 */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly code: ClientErrorCode
  readonly engines: readonly EngineError[]
  constructor(code: ClientErrorCode, message: string, engines: readonly EngineError[] = []) {
    super(message)
    this.code = code
    this.engines = engines
  }
}

/** Throws a {@link ClientError} `bad-request`. */
export function refuseBadRequest(message: string): never {
  throw new ClientError('bad-request', message)
}

/** Throws a {@link ClientError} `refused-by-chain`. */
export function refuseByChain(message: string): never {
  throw new ClientError('refused-by-chain', message)
}
