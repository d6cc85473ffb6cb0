// Runs a TypeScript file, bundled first, since Node 20 reads no types. Arguments after the file go to it.
import './node-version.cjs'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { install } from './install.js'

await install(['.'])
const { build } = await import('esbuild')

const [entry, ...args] = process.argv.slice(2)
const root = join(import.meta.dirname, '..')
// The bundle is below node_modules, so that the packages the file imports are found from there.
const directory = mkdtempSync(join(root, 'node_modules', '.run-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
const outfile = join(directory, 'entry.mjs')
await build({
  absWorkingDir: root,
  entryPoints: [entry],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  packages: 'external',
  sourcemap: 'inline',
  logLevel: 'warning',
})
process.argv = [process.argv[0], outfile, ...args]
await import(pathToFileURL(outfile).href)
