/**
 * Encodes and decodes calls, answers and constructors by the ABI of a contract. Commands use this; engines read
 * contracts with `abi-reader.ts`.
 */
import { hexToBytes } from '@noble/hashes/utils.js'
import { createContract, decodeError, deployContract, parseAbi } from 'micro-eth-signer/abi.js'
import type { Json } from '../../codec/json.ts'
import { type AbiParameter, toArgument } from './abi-values.ts'
import { writeData } from './values.ts'

/** An item of an ABI in the JSON format of compilers: a function, an event, an error or the constructor. */
export interface AbiItem {
  readonly type: string
  readonly name?: string
  readonly inputs?: readonly AbiParameter[]
  readonly outputs?: readonly AbiParameter[]
  readonly stateMutability?: string
}

/**
 * Parses the signature of a function, such as `post(bytes)` or `engines() view returns (address[])`. Throws when it is
 * not one.
 */
export function parseFunction(signature: string): AbiItem {
  const words = signature.startsWith('function ') ? signature : `function ${signature}`
  return parseAbi([words])[0] as AbiItem
}

/**
 * Encodes a call with JSON values: numbers may also be text, and bytes are in hexadecimal. Throws an Error for people
 * when the values do not fit the parameters.
 */
export function encodeCall(item: AbiItem, values: readonly Json[]): Uint8Array {
  return methodOf(item).encodeInput(argumentsOf(item, values))
}

/** Decodes the answer of a function to JSON. Throws when the bytes do not fit its outputs. */
export function decodeAnswer(item: AbiItem, answer: Uint8Array): Json {
  if ((item.outputs ?? []).length === 0) return writeData(answer)
  return toJson(methodOf(item).decodeOutput(answer))
}

/**
 * Returns the input of a transaction that creates a contract. Throws an Error for people when the values do not fit the
 * parameters of the constructor.
 */
export function encodeConstructor(abi: readonly AbiItem[], bytecode: string, values: readonly Json[]): Uint8Array {
  const creation = abi.find(({ type }) => type === 'constructor') ?? { type: 'constructor', inputs: [] }
  const text = deployContract([creation] as ParsedAbi, bytecode, argumentsOf(creation, values))
  return hexToBytes(text.slice(2))
}

/**
 * Returns the custom error that a contract reverted with, in the notation of Solidity: `TooEarly(7)`. Returns undefined
 * when the ABI does not have the error.
 */
export function customError(abi: readonly AbiItem[], revertBytes: Uint8Array): string | undefined {
  // Without names, the library returns several values as a list.
  const errors = abi
    .filter(({ type }) => type === 'error')
    .map((error) => ({ ...error, inputs: (error.inputs ?? []).map((input) => ({ ...input, name: '' })) }))
  try {
    const { name, args } = decodeError(revertBytes, errors) ?? {}
    const inputs = errors.find((error) => error.name === name)?.inputs
    if (name === undefined || inputs === undefined) return undefined
    const values: readonly unknown[] = inputs.length > 1 ? (args as unknown[]) : [args]
    return `${name}(${inputs.map(({ type }, at) => formatLiteral(type, toJson(values[at]))).join(', ')})`
  } catch {
    return undefined
  }
}

function formatLiteral(type: string, value: Json): string {
  return typeof value === 'string' && type !== 'string' ? value : JSON.stringify(value)
}

type ParsedAbi = Parameters<typeof createContract>[0]

interface Method {
  readonly encodeInput: (values: unknown) => Uint8Array
  readonly decodeOutput: (answer: Uint8Array) => unknown
}

function methodOf(item: AbiItem): Method {
  const [method] = Object.values<Method>(createContract([item] as ParsedAbi))
  if (method === undefined) throw new Error('it is not a function')
  return method
}

/**
 * Converts the arguments to the form that the library takes: one value as it is, several by name, or as a list when one
 * of them has no name.
 */
function argumentsOf({ name = 'the constructor', inputs = [] }: AbiItem, values: readonly Json[]): unknown {
  if (values.length !== inputs.length) {
    const expected = inputs.map((input) => `${input.type} ${input.name ?? ''}`.trim()).join(', ')
    throw new Error(`${name} takes ${inputs.length} arguments, not ${values.length}: (${expected})`)
  }
  const args = inputs.map((input, at) => toArgument(input, values[at] ?? null))
  if (inputs.length <= 1) return args[0]
  if (!inputs.every((input) => (input.name ?? '') !== '')) return args
  return Object.fromEntries(inputs.map((input, at) => [input.name, args[at]]))
}

function toJson(value: unknown): Json {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Uint8Array) return writeData(value)
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toJson(member)]))
  }
  return value === undefined ? null : (value as Json)
}
