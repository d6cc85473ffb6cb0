// Bundles the command into files: `dist/vouchsafe.cjs`, which is small, and parts, each of which is read when it is
// used first.
import './node-version.cjs'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { transformSync } from 'esbuild'
import { commandOptions, root, WITH_REQUIRE } from './bundle-options.js'
import { buildSdk, buildWorker } from './component.js'
import { buildComponents } from './components.js'
import { buildConsole } from './console.js'
import { BUNDLED, bundle, writeMetafile } from './metafile.js'

mkdirSync(join(root, 'dist'), { recursive: true })

const versionGate = transformSync(readFileSync(join(import.meta.dirname, 'node-version.cjs'), 'utf8'), {
  minifyWhitespace: true,
}).code.trim()

/**
 * Bundles the command. Only modules can be split, and so each file is made CommonJS afterwards, which starts sooner.
 */
async function bundleCommand() {
  const files = await bundle({
    ...commandOptions,
    ...{ format: 'esm', splitting: true, write: false },
    entryPoints: ['src/bin/vouchsafe.ts'],
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    chunkNames: 'parts/[name]-[hash]',
  })
  const parts = join(root, 'dist', 'parts')
  mkdirSync(parts, { recursive: true })
  for (const { path, text } of files) writeFileSync(path, path.endsWith('.cjs') ? toCommonJs(path, text) : text)
  // The images have a link to this file on their path.
  chmodSync(join(root, 'dist', 'vouchsafe.cjs'), 0o755)
  // Old parts go last, since a command that runs meanwhile may still read them.
  const current = new Set(files.map(({ path }) => basename(path)))
  for (const name of readdirSync(parts)) if (!current.has(name)) rmSync(join(parts, name))
}

function toCommonJs(path, text) {
  const isPart = basename(dirname(path)) === 'parts'
  // An older Node meets the gate before anything that it cannot run.
  const start = isPart
    ? 'const DIST=require("node:path").dirname(__dirname);'
    : `#!/usr/bin/env node\n{${versionGate}}const DIST=__dirname;`
  const { minifyWhitespace, minifySyntax, platform, target } = commandOptions
  return transformSync(text, {
    ...{ minifyWhitespace, minifySyntax, platform, target, format: 'cjs', banner: start },
    ...WITH_REQUIRE,
  }).code
}

await bundleCommand()
// The program of each thread beside the one that serves is a bundle of its own.
await bundle({
  ...commandOptions,
  entryPoints: [
    'src/bin/chain/local-chain-worker.ts',
    'src/store/sqlite-check-thread.ts',
    'src/store/sqlite-writer-thread.ts',
  ],
  ...WITH_REQUIRE,
  define: { 'import.meta.dirname': '__dirname' },
  outdir: 'dist',
  entryNames: '[name]',
  outExtension: { '.js': '.cjs' },
})
await buildConsole(join(root, 'dist', 'console'))
await buildWorker(join(root, 'dist'))
await buildSdk(join(root, 'dist', 'sdk'))
buildComponents()
writeMetafile(BUNDLED)
