/** Decodes the reason for which a contract reverted a call. */
import { bytesToHex } from '@noble/hashes/utils.js'
import { isObject, memberOf } from '../../codec/json.ts'
import { readOrUndefined } from '../../codec/malformed.ts'
import { createAbiReader } from './abi-reader.ts'
import { readData } from './values.ts'

const ERROR = '08c379a0'
const PANIC = '4e487b71'
const SELECTOR_BYTES = 4
const MAX_REASON = 500

/** The panics of Solidity by their codes. Solidity documentation, "Panic via assert and Error via require". */
const PANICS: Readonly<Record<number, string>> = {
  1: 'an assertion does not hold',
  17: 'a number overflows',
  18: 'a division by zero',
  33: 'no value of its enum',
  34: 'a damaged byte array in storage',
  49: 'pop of an empty array',
  50: 'an index out of bounds',
  65: 'too much memory',
  81: 'a call of an uninitialised function',
}

/** Reads the `data` of a JSON-RPC error. Some nodes wrap it in an object. Returns undefined when there is none. */
export function revertData(value: unknown): Uint8Array | undefined {
  const text = isObject(value) ? memberOf(value, 'data') : value
  return typeof text === 'string' ? readOrUndefined(() => readData(text)) : undefined
}

/**
 * Returns the reason of a revert in one line; its text is by the author of the contract. Returns undefined when the
 * contract reverted without a reason.
 */
export function revertReason(revertBytes: Uint8Array | undefined): string | undefined {
  if (revertBytes === undefined || revertBytes.length < SELECTOR_BYTES) return undefined
  const selector = bytesToHex(revertBytes.subarray(0, SELECTOR_BYTES))
  const reason = readOrUndefined(() => {
    const from = createAbiReader(revertBytes.subarray(SELECTOR_BYTES))
    if (selector === ERROR) return from.text(0, MAX_REASON).replace(/\s+/g, ' ')
    if (selector === PANIC) return PANICS[from.number(0)] ?? `panic ${from.number(0)}`
    return undefined
  })
  return reason ?? `error 0x${selector}`
}
