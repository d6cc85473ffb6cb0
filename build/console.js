// The page of the console: one script, one style sheet, one document.
import './node-version.cjs'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')

/** The files of the page into a directory. */
export async function buildConsole(directory) {
  mkdirSync(directory, { recursive: true })
  await build({
    absWorkingDir: root,
    entryPoints: ['console/app.ts'],
    outfile: join(directory, 'app.js'),
    bundle: true,
    minify: true,
    platform: 'browser',
    target: 'es2023',
    format: 'esm',
    legalComments: 'none',
    logLevel: 'warning',
  })
  for (const name of ['index.html', 'style.css']) copyFileSync(join(root, 'console', name), join(directory, name))
}
