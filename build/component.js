// The parts that components need beside the command: the thread they run in, QuickJS, and what their authors import.
import './node-version.cjs'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { buildElement } from './element.js'
import { bundle } from './metafile.js'

const root = join(import.meta.dirname, '..')
const shared = { absWorkingDir: root, bundle: true, target: 'node20.19', legalComments: 'none', logLevel: 'warning' }

/** Bundles the worker into a directory, and copies `quickjs.wasm` there. */
export async function buildWorker(directory) {
  mkdirSync(directory, { recursive: true })
  await bundle({
    ...shared,
    entryPoints: ['src/component/worker.ts'],
    outfile: join(directory, 'component-worker.cjs'),
    platform: 'node',
    format: 'cjs',
    minifyWhitespace: true,
    minifySyntax: true,
  })
  const require = createRequire(import.meta.url)
  const entryPoints = [require.resolve('quickjs-wasi/quickjs.wasm')]
  await bundle({ ...shared, entryPoints, outfile: join(directory, 'quickjs.wasm'), loader: { '.wasm': 'copy' } })
}

/** Bundles `vouchsafe/component`, which is bundled into components, into a directory. */
export async function buildComponentSdk(directory) {
  await bundle({
    ...shared,
    entryPoints: ['sdk/component/index.ts'],
    outfile: join(directory, 'component.js'),
    platform: 'neutral',
    format: 'esm',
  })
}

/** Bundles `vouchsafe/component`, `/component-test`, `/server`, `/client` and `/element` into a directory. */
export async function buildSdk(directory) {
  const outfile = (name) => join(directory, `${name}.js`)
  await buildComponentSdk(directory)
  await bundle({
    ...shared,
    entryPoints: ['sdk/component-test/index.ts'],
    // Node resolves every import of an ES module before it runs any, and so an older one would refuse in its own words.
    outfile: join(directory, 'component-test.cjs'),
    platform: 'node',
    format: 'cjs',
    define: { 'import.meta.dirname': '__dirname' },
  })
  await bundle({
    ...shared,
    entryPoints: ['sdk/server/index.ts'],
    outfile: outfile('server'),
    // Deno, Bun and Workers run the bundle too, so that it uses nothing of Node.
    platform: 'neutral',
    target: 'es2023',
    format: 'esm',
  })
  await bundle({
    ...shared,
    entryPoints: ['sdk/client/index.ts'],
    outfile: outfile('client'),
    // Pages run the bundle too, so that it uses nothing of Node.
    platform: 'browser',
    target: 'es2023',
    format: 'esm',
  })
  await buildElement(outfile('element'))
  writeNodeEntries(join(directory, 'node'))
}

/** Writes what Node loads in the place of a bundle: it refuses an older Node, and then loads the bundle. */
function writeNodeEntries(directory) {
  mkdirSync(directory, { recursive: true })
  copyFileSync(join(import.meta.dirname, 'library-node-version.js'), join(directory, 'version.js'))
  for (const name of ['client.js', 'server.js', 'component-test.cjs']) {
    const entry = name.replace(/cjs$/, 'js')
    writeFileSync(join(directory, entry), `import './version.js'\nexport * from '../${name}'\n`)
  }
}
