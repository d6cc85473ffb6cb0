/** The command line of `vouchsafe secret`. */
import type { EngineClient } from '../../../sdk/client/engine-client.ts'
import { parseSharingId, type SecretSharing } from '../../../sdk/client/secret-sharing.ts'
import type { Scheme } from '../../../sdk/client/shares.ts'
import { readOrUndefined } from '../../codec/malformed.ts'
import { type Address, parseAddress } from '../../offchain/address.ts'
import { readSubcommand, type Subcommand, UsageError } from '../terminal/command-line.ts'

/** The scheme of a secret whose command names none. */
export const DEFAULT_SCHEME: Scheme = 'shamir'

export interface SecretOptions {
  readonly contract: Address
  readonly chain: string | undefined
  readonly rpc: string | undefined
  readonly key: string | undefined
  /** The most that a unit of gas may cost, in gwei. */
  readonly maxGasPrice: string | undefined
  readonly id: bigint | undefined
  readonly threshold: number | undefined
  readonly file: string | undefined
  readonly out: string | undefined
  readonly resume: string | undefined
  readonly scheme: Scheme | undefined
  readonly all: boolean
}

export interface SecretCommand {
  readonly options: SecretOptions
  readonly client: EngineClient
  /** Opens the sharing with the signer. Throws a message for the user if there is no key. */
  readonly openSharing: () => SecretSharing
  /** Returns the id of the sharing. Throws a {@link UsageError} if it is missing. */
  readonly requireId: () => bigint
}

/** Parses the command line. Throws a {@link UsageError}. */
export function readCommand(args: string[]): {
  readonly word: Subcommand<'secret'>
  readonly rest: readonly string[]
  readonly options: SecretOptions
} {
  const { subcommand: word, rest, values } = readSubcommand('secret', args)
  const { 'max-gas-price': maxGasPrice } = values
  const { contract, chain, rpc, key, id, threshold, file, out, resume, scheme, all } = values
  const options = {
    contract: word === 'key' ? '' : parseContract(contract),
    chain,
    rpc,
    key,
    maxGasPrice,
    id: id === undefined ? undefined : parseId(id),
    threshold: threshold === undefined ? undefined : parseThreshold(threshold),
    file,
    out,
    resume,
    scheme,
    all,
  }
  return { word, rest, options }
}

function parseContract(contract: string | undefined): Address {
  if (contract === undefined) throw new UsageError('secret', '--contract ADDRESS is missing')
  return readOrUndefined(() => parseAddress(contract)) ?? refuseWords(`--contract ${contract} is not an address`)
}

function parseId(id: string): bigint {
  try {
    return parseSharingId(id)
  } catch (error) {
    throw new UsageError('secret', `--id ${id} is not a decimal number below 2^128`, { cause: error })
  }
}

function parseThreshold(threshold: string): number {
  return /^\d{1,3}$/.test(threshold) ? Number(threshold) : refuseWords(`--threshold ${threshold} is not a number`)
}

function refuseWords(why: string): never {
  throw new UsageError('secret', why)
}
