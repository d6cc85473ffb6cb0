// How the command is bundled: into files for use (`bundles.js`), and into one that keeps its lines (`bench/parts.ts`).
import './node-version.cjs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..')

export const commandOptions = {
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
export const WITH_REQUIRE = { supported: { 'dynamic-import': false } }
