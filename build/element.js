// `vouchsafe/element` for pages: minified, since a page loads all of it before it can show a code.
import './node-version.cjs'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from './metafile.js'

const root = join(import.meta.dirname, '..')
/** The calls of the QR package for its other outputs: pictures and terminals. */
const OTHER_OUTPUT = /if \(output === '(?:ascii|term|svg|gif|data-url)'\)\s+return [^;]+;/g

/** Leaves out what the QR package has for other outputs than the modules of a code. */
const modulesAlone = {
  name: 'modules-alone',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]qr[\\/]index\.js$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8')
      const count = contents.match(OTHER_OUTPUT)?.length
      if (count !== 5) throw new Error(`the QR package has ${count} other outputs instead of 5: see build/element.js`)
      return { contents: contents.replaceAll(OTHER_OUTPUT, '') }
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
    plugins: [modulesAlone],
    logLevel: 'warning',
  })
}
