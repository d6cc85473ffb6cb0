/** The files in the package that `npm pack` makes. */
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import ts from 'typescript'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryDirectory } from './support/command.ts'

const ROOT = join(import.meta.dirname, '..')

/** Returns the paths of the files that `npm pack` takes from a folder. */
function packedFrom(cwd: string): string[] {
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd, encoding: 'utf8' })
  const [packed] = JSON.parse(stdout) as [{ readonly files: readonly { readonly path: string }[] }]
  return packed.files.map(({ path }) => path)
}

/** Returns the files and options by which `npm pack` makes the types for applications. */
function typesConfiguration(): ts.ParsedCommandLine {
  const file = ts.readConfigFile(join(ROOT, 'sdk/tsconfig.json'), (path) => ts.sys.readFile(path))
  const { config } = file as { config: unknown }
  return ts.parseJsonConfigFileContent(config, ts.sys, join(ROOT, 'sdk'))
}

/** Returns the types that `npm pack` makes for applications, by their paths below the folder of the types. */
function packedTypes(): ReadonlyMap<string, string> {
  const { fileNames, options } = typesConfiguration()
  const types = new Map<string, string>()
  // Types that are not checked are written alike, in half of the time: `npm run check` checks them.
  const program = ts.createProgram(fileNames, { ...options, noCheck: true })
  program.emit(undefined, (path, text) => types.set(relative(join(ROOT, 'dist/sdk/types'), path), text))
  return types
}

describe('the package', () => {
  let files: readonly string[] = []
  beforeAll(() => {
    files = packedFrom(ROOT)
  })

  it('has everything that its documents link to', () => {
    const documents = files.filter((path) => path.endsWith('.md'))
    const links = documents.flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^[a-z]+:/.test(target))
        .map((target) => ({ path, target: normalize(join(dirname(path), target)) })),
    )
    const isPacked = (target: string): boolean =>
      files.some((path) => path === target || path.startsWith(`${target.replace(/\/$/, '')}/`))
    expect(links.length).toBeGreaterThan(100)
    expect(links.filter(({ target }) => !isPacked(target))).toEqual([])
  })

  it('has the command and the sources, and no tests', () => {
    expect(files).toEqual(expect.arrayContaining(['dist/vouchsafe.cjs', 'src/bin/vouchsafe.ts']))
    expect(files).toContainEqual(expect.stringMatching(/^dist\/parts\/issuer-\w+\.cjs$/))
    expect(files.filter((path) => path.endsWith('.test.ts') || path.includes('node_modules'))).toEqual([])
  })

  it('has types that a compiler reads without any other package than that of Node, and none of tests', () => {
    const types = packedTypes()
    const imports = [...types].flatMap(([path, text]) =>
      [...text.matchAll(/(?:from |import\()'([^'.][^']*)'/g)].map(([, name = '']) => ({ path, name })),
    )
    expect(types.has('sdk/client/index.d.ts')).toBe(true)
    expect(imports.filter(({ name }) => !name.startsWith('node:'))).toEqual([])
    expect([...types.keys()].filter((path) => path.startsWith('test/') || path.includes('.test.'))).toEqual([])
  })

  it('has its types also where those of before were removed, which an incremental compiler takes for made', () => {
    expect(typesConfiguration().options.incremental).toBe(false)
  })

  it('has of conf/ the examples alone, and never what `init` writes there', () => {
    const secrets = ['issuer.key', 'issuer.pem', 'issuer.secrets', 'server.json']
    const copy = temporaryDirectory()
    cpSync(join(ROOT, 'package.json'), join(copy, 'package.json'))
    cpSync(join(ROOT, 'conf'), join(copy, 'conf'), { recursive: true })
    for (const name of secrets) writeFileSync(join(copy, 'conf', name), 'x')
    expect(packedFrom(copy).filter((path) => path.startsWith('conf/'))).toEqual([
      'conf/engine.json',
      'conf/issuer.json',
      'conf/verifier.json',
    ])
  })

  it('has an example of a verifier that trusts the issuers of a directory alone', () => {
    const settings = JSON.parse(readFileSync(join(ROOT, 'conf/verifier.json'), 'utf8')) as Record<string, unknown>
    expect(settings.issuerTrustAnchors).toBe('conf/trust-anchors')
  })
})
