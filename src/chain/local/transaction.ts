/** Reads the signed transactions that are sent to a local chain. */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { hexToBytes } from '@noble/hashes/utils.js'
import { Transaction } from 'micro-eth-signer'
import { evmAddress } from '../../offchain/address.ts'
import { accountOf, type Recover } from '../../offchain/authentication/recover.ts'
import { JsonRpcError } from '../json-rpc.ts'
import { BLOCK_GAS, type Message } from './execute.ts'

export interface ParsedTransaction {
  readonly raw: string
  readonly hash: string
  readonly nonce: number
  readonly chainId: bigint | undefined
  readonly type: 'legacy' | 'eip1559'
  /** The message without its sender. */
  readonly message: Omit<Message, 'from'>
  /** Recovers the address of the signer. Throws a JsonRpcError when the signature is invalid. */
  readonly sender: (recover: Recover) => string
}

const MAX_BYTES = 256 * 1024
const TRANSACTION_REFUSED = -32000

/** Throws the JsonRpcError for a refused transaction. */
export function refuseTransaction(message: string, options?: ErrorOptions): never {
  throw new JsonRpcError(TRANSACTION_REFUSED, message, undefined, options)
}

/**
 * Parses a signed transaction. Throws a JsonRpcError when `raw` is not one, or is of a type that a local chain does not
 * accept.
 */
export function readTransaction(raw: string): ParsedTransaction {
  if (raw.length > 2 * MAX_BYTES) refuseTransaction(`the transaction is larger than ${MAX_BYTES} bytes`)
  const transaction = readOrRefuseTransaction(() => Transaction.fromHex(raw))
  const { type } = transaction
  if (type !== 'legacy' && type !== 'eip1559') return refuseTransaction(`a local chain takes no ${type} transactions`)
  const fields = transaction.raw as (typeof transaction)['raw'] & { readonly accessList?: readonly unknown[] }
  if ((fields.accessList ?? []).length > 0)
    return refuseTransaction('a local chain takes no transactions with access lists')
  if (!transaction.isSigned) return refuseTransaction('the transaction is not signed')
  if (fields.gasLimit > BLOCK_GAS)
    return refuseTransaction(`exceeds block gas limit: a transaction may take ${BLOCK_GAS}`)
  return {
    raw: raw.toLowerCase(),
    hash: readOrRefuseTransaction(() => transaction.hash),
    nonce: Number(fields.nonce),
    chainId: fields.chainId,
    type,
    message: {
      to: fields.to === '0x' ? undefined : fields.to.toLowerCase(),
      value: fields.value,
      input: Buffer.from(fields.data.replace(/^0x/, ''), 'hex'),
      gasLimit: fields.gasLimit,
    },
    sender: (recover) => recoverSender(transaction, recover),
  }
}

/**
 * Recovers the address of the signer. Throws a JsonRpcError when the signature is invalid; a signature with the higher
 * s is invalid (EIP-2).
 */
function recoverSender(transaction: ReturnType<typeof Transaction.fromHex>, recover: Recover): string {
  const {
    r = 0n,
    s = 0n,
    yParity,
  } = transaction.raw as { readonly r?: bigint; readonly s?: bigint; readonly yParity?: number }
  const compact = hexToBytes(`${word(r)}${word(s)}`)
  const key = recover(keccak_256(transaction.toBytes({ includeSignature: false })), {
    compact,
    recovery: yParity === 1 ? 1 : 0,
  })
  return key === undefined
    ? refuseTransaction('invalid transaction: nobody signed it')
    : evmAddress(accountOf(key, 'evm'))
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}

/** Returns the result of `read`. Throws a JsonRpcError when `read` throws. */
function readOrRefuseTransaction<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    return refuseTransaction(`invalid transaction: ${(error as Error).message.slice(0, 200)}`, { cause: error })
  }
}
