/** The bill of materials of the package names what is in its bundles, and nothing else. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
/** The list of what is in the bundles, which the build writes. */
const BUNDLED = join(ROOT, 'node_modules', '.vouchsafe-bundles.json')

interface Component {
  readonly group?: string
  readonly name: string
  readonly version: string
  readonly licenses: readonly ({ readonly license: { readonly id: string } } | { readonly expression: string })[]
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))

const LICENCES = ['Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MPL-2.0', '(MIT OR Apache-2.0)']

describe('the bill of materials', () => {
  const components = new Map<string, Component>()
  beforeAll(() => {
    // The run has built the command. Another build would change files that other tests start.
    if (!existsSync(BUNDLED)) execFileSync(process.execPath, ['build/bundle.js'], { cwd: ROOT, stdio: 'pipe' })
    execFileSync(process.execPath, ['build/sbom.js'], { cwd: ROOT, stdio: 'pipe' })
    for (const each of (readJson('dist/sbom.cdx.json') as { components: Component[] }).components) {
      components.set(each.group === undefined ? each.name : `${each.group}/${each.name}`, each)
    }
  }, 600_000)

  it.each(['fastify', 'jose', 'pg', 'openid-client', 'quickjs-wasi', '@noble/ciphers', '@bitauth/libauth', 'qr'])(
    'has %s, of a bundle or a component',
    (name) => {
      expect([...components.keys()]).toContain(name)
    },
  )

  it('has each in the version of the lock file, with a licence that the package may carry', () => {
    const { packages } = readJson('package-lock.json') as Lock
    for (const [name, { version, licenses }] of components) {
      expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version])
      const ids = licenses.map((each) => ('license' in each ? each.license.id : each.expression))
      expect([name, ids.length > 0, ids.filter((id) => !LICENCES.includes(id))]).toEqual([name, true, []])
    }
  })

  it('has nothing that only builds or tests', () => {
    expect(['esbuild', 'vitest', 'typescript', 'hardhat'].filter((name) => components.has(name))).toEqual([])
  })
})
