/** The contracts of `components/`, compiled by solc as it is installed for the tests. */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, relative } from 'node:path'
import type { ParsedABI } from 'micro-eth-signer/abi.js'

const ROOT = join(import.meta.dirname, '..', '..')

export interface CompiledContract {
  readonly abi: ParsedABI
  /** Hexadecimal without prefix. */
  readonly bytecode: string
  /** Selectors by signature. */
  readonly methods: Readonly<Record<string, string>>
}

interface Solc {
  compile(input: string): string
}
interface SolcOutput {
  readonly errors?: readonly { readonly formattedMessage: string }[]
  readonly contracts?: Record<
    string,
    Record<
      string,
      { abi: ParsedABI; evm: { bytecode: { object: string }; methodIdentifiers: Record<string, string> } }
    >
  >
}

let compiled: Readonly<Record<string, CompiledContract>> | undefined

/** Throws with everything that the compiler says, warnings too. */
export function contracts(): Readonly<Record<string, CompiledContract>> {
  compiled ??= compileAll()
  return compiled
}

function compileAll(): Record<string, CompiledContract> {
  const solc = createRequire(join(ROOT, 'test', 'contracts', 'package.json'))('solc') as Solc
  const paths = readdirSync(join(ROOT, 'components'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.sol'),
  )
  const sources = Object.fromEntries(
    paths.map((path) => [
      relative(ROOT, join(ROOT, 'components', path)),
      { content: readFileSync(join(ROOT, 'components', path), 'utf8') },
    ]),
  )
  const settings = {
    optimizer: { enabled: true, runs: 200 },
    evmVersion: 'cancun',
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.methodIdentifiers'] } },
  }
  const output = JSON.parse(
    solc.compile(JSON.stringify({ language: 'Solidity', sources, settings })),
  ) as SolcOutput
  if (output.errors) throw new Error(output.errors.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return Object.fromEntries(
    Object.entries(output.contracts ?? {}).flatMap(([path, byName]) =>
      Object.entries(byName)
        .filter(([name]) => basename(path) === `${name}.sol`)
        .map(([name, { abi, evm }]) => [
          name,
          { abi, bytecode: evm.bytecode.object, methods: evm.methodIdentifiers },
        ]),
    ),
  )
}
