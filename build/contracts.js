// The contracts that come with Vouchsafe: compiles every .sol file below components/ with the compiler of test/contracts, and
// writes components/artifacts/<Name>.json ({abi, bytecode}). `--check` compares instead of writing, and fails when one is not current.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')
const components = join(root, 'components')
const artifacts = join(components, 'artifacts')

const settings = {
  optimizer: { enabled: true, runs: 200 },
  // Runs on chains of before Prague too, and on the local chain.
  evmVersion: 'cancun',
  // No digest of the sources at the end: a comment changes nothing.
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
}

/** The text of each artifact, by the name of its contract. Throws what the compiler says. */
export function compileContracts() {
  const solc = createRequire(join(root, 'test/contracts/package.json'))('solc')
  const names = readdirSync(components, { recursive: true }).filter((name) => name.endsWith('.sol'))
  const sources = Object.fromEntries(
    names.sort().map((name) => {
      const path = relative(components, join(components, name)).replaceAll('\\', '/')
      return [path, { content: readFileSync(join(components, name), 'utf8') }]
    }),
  )
  const { errors = [], contracts } = JSON.parse(
    solc.compile(JSON.stringify({ language: 'Solidity', sources, settings })),
  )
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return new Map(
    Object.values(contracts)
      .flatMap(Object.entries)
      .filter(([, { evm }]) => evm.bytecode.object !== '')
      .map(([name, { abi, evm }]) => [name, artifactText(abi, `0x${evm.bytecode.object}`)]),
  )
}

/** A line for each function: what changed can be read. */
function artifactText(abi, bytecode) {
  const items = abi.map((item) => `    ${JSON.stringify(item)}`).join(',\n')
  return `{\n  "abi": [\n${items}\n  ],\n  "bytecode": ${JSON.stringify(bytecode)}\n}\n`
}

/** What stands in components/artifacts/ under that name. */
export function writtenArtifact(name) {
  const file = join(artifacts, `${name}.json`)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(artifacts, { recursive: true })
  for (const [name, text] of compileContracts()) {
    if (process.argv.includes('--check')) {
      if (writtenArtifact(name) === text) continue
      process.stderr.write(`components/artifacts/${name}.json is not current: run node build/contracts.js\n`)
      process.exitCode = 1
    } else writeFileSync(join(artifacts, `${name}.json`), text)
  }
}
