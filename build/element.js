// `vouchsafe/element` for pages: minified, since a page loads all of it before it can show a code.
import './node-version.cjs'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from './metafile.js'

const root = join(import.meta.dirname, '..')
/** The tables of the QR package for the levels of error correction that the element does not use. */
const OTHER_LEVEL = /(?:medium|quartile|high): \[[\d,\s]+\],/g

const oneLevel = {
  name: 'one-level',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]qr[\\/]index\.js$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8')
      const count = contents.match(OTHER_LEVEL)?.length
      if (count !== 6)
        throw new Error(`the QR package has ${count} tables of other levels, not 6: see build/element.js`)
      return { contents: contents.replaceAll(OTHER_LEVEL, '') }
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
