// The components that come with Vouchsafe: components/<name>/component.ts as a script, and where there is one,
// components/<name>/assembly/index.ts as a module.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const components = join(root, 'components')
const asc = join(root, 'test/contracts/node_modules/assemblyscript/bin/asc.js')

/** The script of a component, as `vouchsafe component build` makes it. */
export async function bundleComponent(name) {
  const { outputFiles } = await build({
    absWorkingDir: join(components, name),
    entryPoints: ['component.ts'],
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2023',
    minifyWhitespace: true,
    minifySyntax: true,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'error',
    alias: { 'vouchsafe/component': join(root, 'sdk/component/index.ts') },
  })
  return outputFiles[0].contents
}

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

/** `<name>.js` of each, and `<name>.wasm` where the compiler is installed, into a directory. */
export async function buildComponents(directory) {
  mkdirSync(directory, { recursive: true })
  for (const name of readdirSync(components)) {
    if (existsSync(join(components, name, 'component.ts'))) {
      writeFileSync(join(directory, `${name}.js`), await bundleComponent(name))
    }
    if (existsSync(join(components, name, 'assembly')) && existsSync(asc)) {
      writeFileSync(join(directory, `${name}.wasm`), compileAssembly(name))
    }
  }
}

if (process.argv[1] === import.meta.filename) await buildComponents(join(root, 'dist/components'))
