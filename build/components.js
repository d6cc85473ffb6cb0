// The components that come with Vouchsafe: components/<name>/component.ts as a script, and where there is one,
// components/<name>/assembly/index.ts as a module.
import './node-version.cjs'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')
const command = join(root, 'dist', 'vouchsafe.cjs')
const components = join(root, 'components')
const asc = join(root, 'test/contracts/node_modules/assemblyscript/bin/asc.js')

/** The module of a component. Throws what the compiler says. */
export function compileAssembly(name) {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-assembly-'))
  const out = join(directory, 'component.wasm')
  const source = `components/${name}/assembly`
  const options = [
    ...['--outFile', relative(root, out), '--use', `abort=${source}/host/abort`],
    // A fresh instance for each call has nothing to collect, and at most as much memory as an engine gives: 64 MiB.
    ...['--runtime', 'stub', '--maximumMemory', '1024', '-O3', '--noAssert'],
  ]
  try {
    execFileSync(process.execPath, [asc, `${source}/index.ts`, ...options], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    return readFileSync(out)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/**
 * `<name>.js` of each, and `<name>.wasm` where the compiler is installed, into `dist/components`. The command makes the scripts, as it
 * does for any author: the same sources have the same bytes, and so the same hash.
 */
export function buildComponents() {
  const directory = join(root, 'dist', 'components')
  mkdirSync(directory, { recursive: true })
  for (const name of readdirSync(components)) {
    const source = join(components, name, 'component.ts')
    if (existsSync(source)) {
      const args = ['component', 'build', source, '--out', join(directory, `${name}.js`)]
      execFileSync(process.execPath, [command, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
    }
    if (existsSync(join(components, name, 'assembly')) && existsSync(asc)) {
      writeFileSync(join(directory, `${name}.wasm`), compileAssembly(name))
    }
  }
}

if (process.argv[1] === import.meta.filename) buildComponents()
