// The pages of the console: a document, a style sheet, a script; and the script of the wallet, which only its page
// loads, and whose parts that receive and present load when a link is opened.
import './node-version.cjs'
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from './metafile.js'

const root = join(import.meta.dirname, '..')

const shared = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  platform: 'browser',
  target: 'es2023',
  format: 'esm',
  legalComments: 'none',
  logLevel: 'warning',
}

/** The reference wallet is written for Node; for what it needs of Node there is a small module each. */
const inBrowser = {
  alias: Object.fromEntries(
    ['buffer', 'crypto', 'net', 'util'].map((name) => [`node:${name}`, `./console/wallet/node/${name}.ts`]),
  ),
  inject: ['console/wallet/node/buffer.ts'],
}

/** Writes the files of the page into a directory. */
export async function buildConsole(directory) {
  mkdirSync(directory, { recursive: true })
  // A chunk of an earlier build is not part of this one.
  for (const name of readdirSync(directory).filter((each) => each.endsWith('.js'))) rmSync(join(directory, name))
  await bundle({
    ...shared,
    ...inBrowser,
    splitting: true,
    entryPoints: { app: 'console/app.ts', wallet: 'console/wallet/page.ts' },
    outdir: directory,
  })
  for (const name of ['index.html', 'style.css']) copyFileSync(join(root, 'console', name), join(directory, name))
}
