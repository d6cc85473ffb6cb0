/** `vouchsafe component`: builds a component of its sources, and runs its tests. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DEFAULT_LIMITS } from '../../component/limits.ts'
import { bundleTest, readComponent } from '../../toolchain/bundle.ts'
import { startRuntime } from '../../toolchain/places.ts'
import { readWords, usageOf } from '../command-line.ts'

export async function runComponent(args: string[]): Promise<void> {
  const { values, positionals } = readWords('component', {
    args,
    allowPositionals: true,
    options: { out: { type: 'string' } },
  })
  const [word, file, ...more] = positionals
  const problem =
    word === undefined
      ? ''
      : `${word === 'build' || word === 'test' ? `${word} takes one file` : 'there is no such command'}\n\n`
  if (file === undefined || more.length > 0) throw new Error(`${problem}${usageOf('component').trimEnd()}`)
  if (word === 'build') return build(file, values.out)
  if (word === 'test' && values.out === undefined) return test(file)
  throw new Error(`${problem}${usageOf('component').trimEnd()}`)
}

/** Builds a component. Writes nothing that an engine would not run. */
async function build(file: string, out: string | undefined): Promise<void> {
  const component = await readComponent(file)
  const runtime = await startRuntime(1, DEFAULT_LIMITS)
  const { kind, hooks } = await runtime.describe(component).finally(() => runtime.close())
  const to = out ?? (kind === 'wasm' ? file : file.replace(/(\.[cm]?[jt]s)?$/, '.component.js'))
  if (to !== file) writeFileSync(to, component.bytes)
  const lines = [
    `${to}  (${component.bytes.length} bytes, ${kind === 'wasm' ? 'WebAssembly' : 'JavaScript'})`,
    `sha256  ${component.sha256}`,
    `hooks   ${hooks.join(', ')}`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** Runs the tests, and exits with their status. */
async function test(file: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-component-'))
  try {
    const bundled = join(directory, `${basename(file).replace(/\.[cm]?[jt]s$/, '')}.mjs`)
    writeFileSync(bundled, await bundleTest(file))
    const child = spawn(process.execPath, ['--test', '--test-reporter=spec', bundled], { stdio: 'inherit' })
    const [status] = (await once(child, 'exit')) as [number | null]
    process.exitCode = status ?? 2
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
