/** Contracts that can be deployed: those of Vouchsafe, and files of compilers. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { artifacts } from '../../../components/artifacts/index.ts'
import { type AbiItem, parseFunction } from '../../chain/evm/abi.ts'
import { isObject, type Json, memberOf } from '../../codec/json.ts'

export interface Artifact {
  readonly name: string
  readonly abi: readonly AbiItem[]
  /** The bytecode in hexadecimal, with the prefix `0x`. */
  readonly bytecode: string
}

const builtInNames: readonly string[] = Object.keys(artifacts)

/**
 * Returns a contract of Vouchsafe by its name, or one in a file of Hardhat, Foundry or a similar tool. Throws a message
 * for the user if there is none.
 */
export function readArtifact(name: string): Artifact {
  const builtInEntry = Object.entries(artifacts).find(([builtIn]) => builtIn.toLowerCase() === name.toLowerCase())
  if (builtInEntry !== undefined) return { name: builtInEntry[0], ...builtInEntry[1] }
  if (!name.endsWith('.json')) {
    throw new Error(
      `There is no contract ${name}. Those that come with us: ${builtInNames.join(', ')}; others by the file that their compiler wrote, as in out/Mine.json.`,
    )
  }
  const artifact = parseArtifact(name)
  const [abi, bytecode] = [memberOf(artifact, 'abi'), bytecodeOf(memberOf(artifact, 'bytecode'))]
  if (!Array.isArray(abi) || bytecode === undefined) {
    throw new Error(`${name} is not a compiled contract: it must have "abi" and "bytecode", with all libraries linked`)
  }
  const contractName = memberOf(artifact, 'contractName')
  return {
    name: typeof contractName === 'string' ? contractName : 'contract',
    abi: abi as unknown as AbiItem[],
    bytecode,
  }
}

function parseArtifact(file: string): Record<string, Json> {
  const advice = 'name the file that a compiler wrote, as in out/Mine.json'
  const text = readText(file)
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch (error) {
    throw new Error(`${file} is not JSON: ${(error as Error).message}; ${advice}`, { cause: error })
  }
  if (isObject(value)) return value
  throw new Error(`${file} must be an object in JSON; ${advice}`)
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') throw new Error(`${resolve(file)} cannot be read (${code ?? 'unknown'})`, { cause: error })
    throw new Error(
      `There is no file ${resolve(file)}: compile the contract first (forge build, or npx hardhat compile), and name the file that this writes`,
      { cause: error },
    )
  }
}

/** Returns the bytecode, which Foundry has in an object. */
function bytecodeOf(value: Json | undefined): string | undefined {
  const text = isObject(value) ? memberOf(value, 'object') : value
  if (typeof text !== 'string' || !/^(0x)?([0-9a-f]{2})+$/i.test(text)) return undefined
  return text.startsWith('0x') ? text : `0x${text}`
}

/** Returns the ABI of `artifact`, or of all contracts of Vouchsafe. */
export function abiOf(artifact: string | undefined): readonly AbiItem[] {
  return (artifact === undefined ? builtInNames : [artifact]).flatMap((name) => readArtifact(name).abi)
}

/**
 * Parses a function signature, or finds a function by its name in the ABI. Throws a message for the user if there is
 * none.
 */
export function findFunction(word: string, artifact: string | undefined): AbiItem {
  if (word.includes('(')) return parseSignature(word)
  const item = abiOf(artifact).find(({ type, name }) => type === 'function' && name === word)
  if (item !== undefined) return item
  throw new Error(
    `No contract is known that has a function ${word}. Write it with its types, as in 'post(bytes)', or give --artifact.`,
  )
}

function parseSignature(signature: string): AbiItem {
  try {
    return parseFunction(signature)
  } catch (error) {
    throw new Error(`${signature} is not a function: ${(error as Error).message}`, { cause: error })
  }
}
