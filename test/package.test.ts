/** What is in the package that `npm pack` makes. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')

describe('the package', () => {
  let files: readonly string[] = []
  beforeAll(() => {
    const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    const [packed] = JSON.parse(stdout) as [{ readonly files: readonly { readonly path: string }[] }]
    files = packed.files.map(({ path }) => path)
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
    expect(files).toEqual(expect.arrayContaining(['dist/vouchsafe.cjs', 'dist/engine.cjs', 'src/bin/vouchsafe.ts']))
    expect(files.filter((path) => path.endsWith('.test.ts') || path.includes('node_modules'))).toEqual([])
  })
})
