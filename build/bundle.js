// Bundles the command into one file: one read and one parse at start-up instead of some hundred.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { buildSdk, buildWorker } from './component.js'
import { buildComponents } from './components.js'

const root = join(import.meta.dirname, '..')
mkdirSync(join(root, 'dist'), { recursive: true })
await build({
  absWorkingDir: root,
  entryPoints: ['src/bin/vouchsafe.ts'],
  outfile: 'dist/vouchsafe.cjs',
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  // Not the names: errors and profiles stay readable, and a closure costs no more than it must.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'linked',
  banner: { js: '#!/usr/bin/env node' },
  define: { 'import.meta.dirname': '__dirname' },
  // The OpenAPI plug-in could write YAML as well, and trace what it does; nobody asks it to.
  alias: { yaml: './build/no-yaml.js', debug: './build/no-debug.cjs' },
  // Native code of an optional dependency; loaded where Node has no SQLite of its own.
  // Two that the PostgreSQL driver would take where they are installed, which they are not. And two that Fastify would take
  // if `http/app.ts` did not tell it how to check and to write.
  external: [
    ...['@photostructure/sqlite', 'pg-native', 'pg-cloudflare'],
    // Native code again, which recovers keys faster where it is installed.
    'secp256k1/bindings.js',
    ...['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'],
  ],
  logLevel: 'warning',
})
await buildWorker(join(root, 'dist'))
await buildSdk(join(root, 'dist', 'sdk'))
await buildComponents(join(root, 'dist', 'components'))
