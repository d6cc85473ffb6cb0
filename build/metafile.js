// esbuild for all bundles of the package, with a list of what went into each, of which the bill of materials is made.
import './node-version.cjs'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

/** The file that says what went into the bundles, in esbuild's own format. */
export const BUNDLED = join(import.meta.dirname, '..', 'node_modules', '.vouchsafe-bundles.json')

const bundled = { inputs: {}, outputs: {} }

/** Bundles as esbuild does, and returns the files where they are not written. */
export async function bundle(options) {
  const { metafile, outputFiles } = await build({ ...options, metafile: true })
  add(metafile)
  return outputFiles
}

/** Goes on from what another process bundled. */
export function readMetafile(file) {
  add(JSON.parse(readFileSync(file, 'utf8')))
}

export function writeMetafile(file) {
  writeFileSync(file, JSON.stringify(bundled))
}

function add({ inputs, outputs }) {
  Object.assign(bundled.inputs, inputs)
  Object.assign(bundled.outputs, outputs)
}
