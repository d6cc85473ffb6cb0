/** Bundles what an author has written with esbuild, which is theirs or ours and no dependency of the package. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Component } from '../../component/runtime.ts'
import { componentDirectory } from './places.ts'

/** What we use of esbuild. */
interface Esbuild {
  build(
    options: Record<string, unknown>,
  ): Promise<{ readonly outputFiles: readonly { readonly contents: Uint8Array }[] }>
}

/** The component of a file: a module as it is, anything else bundled. Throws in words when it cannot be read or bundled. */
export async function readComponent(file: string): Promise<Component> {
  const bytes = /\.wasm$/.test(file) ? readFileSync(file) : await bundleComponent(file)
  return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes }
}

/** One script, the same wherever it is made: only what is in the sources counts. */
function bundleComponent(file: string): Promise<Uint8Array> {
  return bundle(file, {
    format: 'iife',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2023',
    // Not the names: errors stay readable.
    minifyWhitespace: true,
    minifySyntax: true,
    alias: { 'vouchsafe/component': join(componentDirectory(), 'sdk', 'component.js') },
  })
}

/** A test as a module of Node that stands alone but for our harness. */
export function bundleTest(file: string): Promise<Uint8Array> {
  const harness = pathToFileURL(join(componentDirectory(), 'sdk', 'component-test.js')).href
  const path = resolve(file)
  return bundle(file, {
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    define: {
      'import.meta.url': JSON.stringify(pathToFileURL(path).href),
      'import.meta.dirname': JSON.stringify(dirname(path)),
      'import.meta.filename': JSON.stringify(path),
    },
    plugins: [
      {
        name: 'harness',
        setup: (on: { onResolve(what: object, give: () => object): void }) => {
          on.onResolve({ filter: /^vouchsafe\/component-test$/ }, () => ({ path: harness, external: true }))
        },
      },
    ],
  })
}

async function bundle(file: string, options: Record<string, unknown>): Promise<Uint8Array> {
  const path = resolve(file)
  const { outputFiles } = await findEsbuild().build({
    absWorkingDir: dirname(path),
    entryPoints: [basename(path)],
    bundle: true,
    write: false,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'error',
    ...options,
  })
  return outputFiles[0]?.contents ?? new Uint8Array(0)
}

function findEsbuild(): Esbuild {
  const packageRoot = join(componentDirectory(), '..')
  for (const directory of [process.cwd(), packageRoot, join(packageRoot, 'build')]) {
    const require = createRequire(join(directory, 'package.json'))
    try {
      return require('esbuild') as Esbuild
    } catch {
      // The next one may have it.
    }
  }
  throw new Error('To bundle a component takes esbuild: npm install --save-dev esbuild')
}
