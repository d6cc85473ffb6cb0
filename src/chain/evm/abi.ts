/** Calls, answers and constructors by the ABI of a contract. For commands: what an engine reads itself is read by `abi-reader.ts`. */
import { type ContractABI, createContract, deployContract, parseAbi } from 'micro-eth-signer/abi.js'

/** As compilers write it: functions, events, errors and the constructor. */
export type Abi = ContractABI

/** The ABI of one function in words, such as `post(bytes)`, `function engines() view returns (address[])`. Throws when it is none. */
export function abiOf(signature: string): Abi {
  return parseAbi([signature.startsWith('function ') ? signature : `function ${signature}`])
}

/** Throws when the values are not what the function takes. */
export function encodeCall(abi: Abi, name: string, values: readonly unknown[]): Uint8Array {
  return methodOf(abi, name).encodeInput(asGiven(abi, name, values))
}

export function decodeAnswer(abi: Abi, name: string, answer: Uint8Array): unknown {
  return methodOf(abi, name).decodeOutput(answer)
}
