/**
 * Bundles the components and tests of authors. The bundler is esbuild, which is not a dependency of the package: it is
 * where the author installed it, or in a clone of the repository.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sha256Hex } from '../codec/digest.ts'
import type { ComponentCode } from '../component/runtime.ts'
import { findBuiltDirectory } from './places.ts'

/** The part of esbuild that is used here. */
interface Esbuild {
  build(
    options: Record<string, unknown>,
  ): Promise<{ readonly outputFiles: readonly { readonly contents: Uint8Array }[] }>
}

interface Mistake {
  readonly text: string
  readonly location: {
    readonly file: string
    readonly line: number
    readonly column: number
    readonly lineText: string
  } | null
}

/**
 * Returns the component of a file: a module as it is, anything else bundled. Throws in words when it cannot be read or
 * bundled.
 */
export async function readComponent(file: string, directory = findBuiltDirectory()): Promise<ComponentCode> {
  const bytes = /\.wasm$/.test(file) ? readFileSync(resolveFile(file)) : await bundleComponent(file, directory)
  return { sha256: sha256Hex(bytes), bytes }
}

/** Bundles one script, which is the same wherever it is made: it depends on the sources alone. */
function bundleComponent(file: string, directory: string): Promise<Uint8Array> {
  return bundle(file, {
    format: 'iife',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2023',
    // Names are not shortened, so that errors stay readable.
    minifyWhitespace: true,
    minifySyntax: true,
    alias: { 'vouchsafe/component': join(directory, 'sdk', 'component.js') },
  })
}

/** Bundles a test as a module of Node, which imports the test harness of this installation and no other module. */
export function bundleTest(file: string): Promise<Uint8Array> {
  const harness = pathToFileURL(join(findBuiltDirectory(), 'sdk', 'node', 'component-test.js')).href
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
  const path = resolveFile(file)
  const esbuild = findEsbuild()
  const result = esbuild.build({
    absWorkingDir: dirname(path),
    entryPoints: [basename(path)],
    bundle: true,
    write: false,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
    // A tsconfig.json beside the file does not change the bundle.
    tsconfigRaw: {},
    ...options,
  })
  const { outputFiles } = await result.catch((error: unknown) => {
    throw new Error(formatMistakes(error, file), { cause: error })
  })
  return outputFiles[0]?.contents ?? new Uint8Array(0)
}

/** Resolves the path of a file. Throws a message for people when there is no such file. */
function resolveFile(file: string): string {
  const path = resolve(file)
  if (existsSync(path)) return path
  const hint = isAbsolute(file) ? '' : `: ${file} is relative to the working directory`
  throw new Error(`There is no ${path}${hint}.`)
}

/** Lists the mistakes with their places, without the advice of esbuild, which is for users of its command line. */
function formatMistakes(error: unknown, file: string): string {
  const { errors = [], message } = error as { readonly errors?: readonly Mistake[]; readonly message: string }
  const lines = errors.map(({ text, location }) => {
    const where = location === null ? '' : `${location.file}:${location.line}:${location.column + 1}: `
    const code = location === null ? '' : `\n    ${location.lineText.trim()}`
    return `  ${where}${text}${hintOf(text)}${code}`
  })
  return lines.length === 0 ? message : `${file} cannot be bundled:\n${lines.join('\n')}`
}

function hintOf(text: string): string {
  const [, name = ''] = /^Could not resolve "([^"]+)"/.exec(text) ?? []
  if (isBuiltin(name)) return ': a component runs in a sandbox, without the modules of Node'
  return name.startsWith('vouchsafe') ? ': a component imports vouchsafe/component' : ''
}

/** Loads the esbuild of the author, or that of the clone to which this file belongs, as a source or as a bundle. */
function findEsbuild(): Esbuild {
  const clones = ['..', '../..'].map((up) => join(import.meta.dirname, up))
  for (const directory of [process.cwd(), ...clones.flatMap((root) => [root, join(root, 'build')])]) {
    const require = createRequire(join(directory, 'package.json'))
    try {
      return require('esbuild') as Esbuild
    } catch {
      // The next one may have it.
    }
  }
  throw new Error('To bundle a component takes esbuild: npm install --save-dev esbuild')
}
