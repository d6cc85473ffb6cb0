/** `vouchsafe component`: builds a component from its sources, and runs its tests. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type ComponentCode, type ComponentDescription, DEFAULT_LIMITS } from '../../component/runtime.ts'
import { bundleTest, readComponent } from '../../toolchain/bundle.ts'
import { startRuntime } from '../../toolchain/places.ts'
import { throwUnmade } from '../embedded-database/storage-advice.ts'
import { readSubcommand, UsageError } from '../terminal/command-line.ts'
import { printResult } from '../terminal/command-result.ts'

/** Runs `vouchsafe component` with the words after it. */
export async function runComponent(args: string[]): Promise<void> {
  const { subcommand: word, rest, values } = readSubcommand('component', args)
  const [file, ...more] = rest
  if (file === undefined || more.length > 0) throw new UsageError('component', `${word} takes one file`)
  return word === 'build' ? buildComponent(file, values) : testComponent(file)
}

/** Returns the kind and the hooks of a component, as an engine sees them. */
async function describeComponent(component: ComponentCode): Promise<ComponentDescription> {
  const runtime = await startRuntime(1, DEFAULT_LIMITS)
  try {
    return await runtime.describe(component)
  } finally {
    await runtime.close()
  }
}

/** Builds a component. Writes no file if an engine would refuse it. */
async function buildComponent(
  file: string,
  { out, json }: { readonly out?: string | undefined; readonly json: boolean },
) {
  const component = await readComponent(file)
  const { kind, hooks } = await describeComponent(component)
  const outputFile = out ?? (kind === 'wasm' ? file : file.replace(/(\.[cm]?[jt]s)?$/, '.component.js'))
  if (outputFile !== file) writeComponent(outputFile, component.bytes)
  const { sha256, bytes } = component
  const lines = [
    `${outputFile}  (${bytes.length} bytes, ${kind === 'wasm' ? 'WebAssembly' : 'JavaScript'})`,
    `sha256  ${sha256}`,
    `hooks   ${hooks.join(', ')}`,
  ]
  const facts = { file: outputFile, bytes: bytes.length, kind, sha256, hooks }
  printResult({ text: lines.join('\n'), facts }, json)
}

function writeComponent(file: string, bytes: Uint8Array): void {
  try {
    writeFileSync(file, bytes)
  } catch (error) {
    throwUnmade(file, error)
  }
}

/** Runs the tests, and exits with their status. */
async function testComponent(file: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-component-'))
  try {
    const testFile = join(directory, `${basename(file).replace(/\.[cm]?[jt]s$/, '')}.mjs`)
    writeFileSync(testFile, await bundleTest(file))
    const child = spawn(process.execPath, ['--test', '--test-reporter=spec', testFile], { stdio: 'inherit' })
    const [status] = (await once(child, 'exit')) as [number | null]
    process.exitCode = status ?? 2
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
