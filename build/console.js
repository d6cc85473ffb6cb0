// The pages of the console: a script, a style sheet, a document; and the script of the wallet, which only its page loads.
import './node-version.cjs'
import { copyFileSync, mkdirSync } from 'node:fs'
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

/** The files of the page into a directory. */
export async function buildConsole(directory) {
  mkdirSync(directory, { recursive: true })
  await bundle({
    ...shared,
    entryPoints: ['console/app.ts'],
    outfile: join(directory, 'app.js'),
  })
  await bundle({
    ...shared,
    ...inBrowser,
    entryPoints: ['console/wallet/page.ts'],
    outfile: join(directory, 'wallet.js'),
  })
  for (const name of ['index.html', 'style.css']) copyFileSync(join(root, 'console', name), join(directory, name))
}
