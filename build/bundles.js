// Bundles the command into files: one read and one parse at start-up instead of some hundred. What belongs to the execution
// engine is in a file of its own, which issuers and verifiers never load.
import './node-version.cjs'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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
  // Before it runs CommonJS, `import()` reads the whole file once more for the names that it exports: `require` does not.
  supported: { 'dynamic-import': false },
  // Not the names: errors and profiles stay readable, and a closure costs no more than it must.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'linked',
  define: { 'import.meta.dirname': '__dirname' },
  // The OpenAPI plug-in could write YAML as well, and trace what it does; nobody asks it to.
  alias: { yaml: './build/no-yaml.js', debug: './build/no-debug.cjs' },
  // Native code of optional dependencies: keys in tokens, SQLite, where Node has none of its own.
  // Two that the PostgreSQL driver would take where they are installed, which they are not. And two that Fastify would take
  // if `http/app.ts` did not tell it how to check and to write.
  external: [
    'pkcs11js',
    ...['@photostructure/sqlite', 'pg-native', 'pg-cloudflare'],
    ...['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'],
  ],
  logLevel: 'warning',
}

const versionGate = transformSync(readFileSync(join(import.meta.dirname, 'node-version.cjs'), 'utf8'), {
  minifyWhitespace: true,
}).code.trim()

/** Leaves the words of the engine to their own file. */
const engineApart = {
  name: 'engine-apart',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/engine\/commands\.ts$/ }, () => ({ path: './engine.cjs', external: true }))
  },
}

/** Leaves the package that signs people in to a file of its own, which is loaded when somebody does. */
const signInApart = {
  name: 'sign-in-apart',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^openid-client$/ }, ({ kind }) =>
      kind === 'entry-point' ? undefined : { path: './openid-client.cjs', external: true },
    )
  },
}

await bundle({
  ...shared,
  entryPoints: ['src/bin/vouchsafe.ts'],
  outfile: 'dist/vouchsafe.cjs',
  // An older Node meets this before anything that it cannot run.
  banner: { js: `#!/usr/bin/env node\n{${versionGate}}` },
  plugins: [engineApart, signInApart],
})
await bundle({ ...shared, entryPoints: ['src/bin/engine/commands.ts'], outfile: 'dist/engine.cjs' })
await bundle({ ...shared, entryPoints: ['openid-client'], outfile: 'dist/openid-client.cjs' })
// What runs in threads beside the one that serves.
await bundle({
  ...shared,
  entryPoints: ['src/bin/chain/local-chain-worker.ts', 'src/store/sqlite-writer.ts'],
  outdir: 'dist',
  entryNames: '[name]',
  outExtension: { '.js': '.cjs' },
})
await buildConsole(join(root, 'dist', 'console'))
await buildWorker(join(root, 'dist'))
await buildSdk(join(root, 'dist', 'sdk'))
buildComponents()
writeMetafile(BUNDLED)
