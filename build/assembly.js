// The components that are written in AssemblyScript: components/<name>/assembly/index.ts, by the compiler of test/contracts.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')

/** The module of a component. Throws what the compiler says. */
export function compileAssembly(name) {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-assembly-'))
  const out = join(directory, 'component.wasm')
  const source = `components/${name}/assembly`
  try {
    execFileSync(
      process.execPath,
      [
        join(root, 'test/contracts/node_modules/assemblyscript/bin/asc.js'),
        `${source}/index.ts`,
        ...['--outFile', relative(root, out), '--use', `abort=${source}/host/abort`],
        // A fresh instance for each call has nothing to collect, and at most as much memory as an engine gives: 64 MiB.
        ...['--runtime', 'stub', '--maximumMemory', '1024', '-O3', '--noAssert'],
      ],
      { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] },
    )
    return readFileSync(out)
  } finally {
    rmSync(directory, { recursive: true })
  }
}
