// `vouchsafe/element` for pages: minified, since a page loads all of it before it can show a code.
import './node-version.cjs'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from './metafile.js'

const root = join(import.meta.dirname, '..')
/** The tables of the QR package for other levels of error correction, and its ways with digits and capitals. */
const UNUSED =
  /(?:medium|quartile|high): \[[\d,\s]+\],|if \(type === 'numeric'\)[\s\S]+?else (?=\{\s+for \(let i = 0; i < utf8\.)/g

const oneLevel = {
  name: 'one-level',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]qr[\\/]index\.js$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8')
      const count = contents.match(UNUSED)?.length
      if (count !== 7) throw new Error(`the QR package has ${count} parts to leave out, not 7: see build/element.js`)
      return { contents: contents.replaceAll(UNUSED, '') }
    })
  },
}

export async function buildElement(outfile) {
  await bundle({
    absWorkingDir: root,
    entryPoints: ['sdk/element/index.ts'],
    outfile,
    bundle: true,
    platform: 'browser',
    target: 'es2023',
    format: 'esm',
    minify: true,
    legalComments: 'linked',
    plugins: [oneLevel],
    logLevel: 'warning',
  })
}
