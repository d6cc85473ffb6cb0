// Bundles the command into files: `dist/vouchsafe.cjs`, which is small, and parts, each of which is read when it is
// used first.
import './node-version.cjs'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { transformSync } from 'esbuild'
import { buildSdk, buildWorker } from './component.js'
import { buildComponents } from './components.js'
import { buildConsole } from './console.js'
import { BUNDLED, bundle, writeMetafile } from './metafile.js'

const root = join(import.meta.dirname, '..')
mkdirSync(join(root, 'dist'), { recursive: true })
const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  // Names are not shortened: errors and profiles stay readable, and a closure costs no more than it must.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'linked',
  define: { 'import.meta.dirname': 'DIST' },
  // The OpenAPI plug-in could write YAML as well, and trace its steps; the product uses neither.
  alias: { yaml: './build/no-yaml.js', debug: './build/no-debug.cjs' },
  // Native code of optional dependencies stays outside: keys in tokens, and SQLite, where Node has none of its own. So
  // do two packages that the PostgreSQL driver would take where they are installed, which they are not, and two that
  // Fastify would take if `http/app.ts` did not tell Fastify how to check and to write.
  external: [
    'pkcs11js',
    ...['@photostructure/sqlite', 'pg-native', 'pg-cloudflare'],
    ...['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'],
  ],
  logLevel: 'warning',
}

/**
 * Before Node runs CommonJS, `import()` reads the whole file once more for the names of its exports: `require` does
 * not.
 */
const WITH_REQUIRE = { supported: { 'dynamic-import': false } }

const versionGate = transformSync(readFileSync(join(import.meta.dirname, 'node-version.cjs'), 'utf8'), {
  minifyWhitespace: true,
}).code.trim()

/**
 * Bundles the command. Only modules can be split, and so each file is made CommonJS afterwards, which starts sooner.
 */
async function bundleCommand() {
  const files = await bundle({
    ...shared,
    ...{ format: 'esm', splitting: true, write: false },
    entryPoints: ['src/bin/vouchsafe.ts'],
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    chunkNames: 'parts/[name]-[hash]',
  })
  rmSync(join(root, 'dist', 'parts'), { recursive: true, force: true })
  mkdirSync(join(root, 'dist', 'parts'))
  for (const { path, text } of files) writeFileSync(path, path.endsWith('.cjs') ? toCommonJs(path, text) : text)
}

function toCommonJs(path, text) {
  const isPart = basename(dirname(path)) === 'parts'
  // An older Node meets the gate before anything that it cannot run.
  const start = isPart
    ? 'const DIST=require("node:path").dirname(__dirname);'
    : `#!/usr/bin/env node\n{${versionGate}}const DIST=__dirname;`
  const { minifyWhitespace, minifySyntax, platform, target } = shared
  return transformSync(text, {
    ...{ minifyWhitespace, minifySyntax, platform, target, format: 'cjs', banner: start },
    ...WITH_REQUIRE,
  }).code
}

await bundleCommand()
// The program of the threads beside the one that serves is a bundle of its own.
await bundle({
  ...shared,
  entryPoints: ['src/bin/chain/local-chain-worker.ts', 'src/store/sqlite-writer-thread.ts'],
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
