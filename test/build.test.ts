/** Tests what `npm start`, `npm test` and the other scripts of package.json do before anything of Vouchsafe runs. */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { build, transformSync } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { adviceOn, lacking, TESTED_WITH } from '../build/install.js'
import { COMMAND, temporaryDirectory } from './support/command.ts'

const ROOT = join(import.meta.dirname, '..')
const BUILD = join(ROOT, 'build')
const text = (file: string): string => readFileSync(file, 'utf8')
const manifest = JSON.parse(text(join(ROOT, 'package.json'))) as {
  readonly engines: { readonly node: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}
const scripts = readdirSync(BUILD).filter((name) => name.endsWith('.js'))

describe('the lock file', () => {
  it.each(['.', ...TESTED_WITH])('of %s has the digest of every package', (folder) => {
    const { packages } = JSON.parse(text(join(ROOT, folder, 'package-lock.json'))) as {
      readonly packages: Readonly<Record<string, { readonly integrity?: string }>>
    }
    const without = Object.entries(packages).filter(
      ([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity),
    )
    expect(Object.keys(packages).length).toBeGreaterThan(1)
    // Only the folder itself comes from nowhere.
    expect(without.map(([name]) => name)).toEqual([''])
  })
})

describe('an older Node', () => {
  function gate(version: string): { readonly said: string; readonly status: number | undefined } {
    const ended = { said: '', status: undefined as number | undefined }
    const stderr = {
      write: (part: string) => {
        ended.said += part
      },
    }
    const exit = (status: number): void => {
      ended.status = status
    }
    runInNewContext(text(join(BUILD, 'node-version.cjs')), { process: { versions: { node: version }, stderr, exit } })
    return ended
  }

  it.each(['16.20.2', '18.19.0', '18.20.8', '20.15.0', '20.18.3'])('%s is told which it should be', (version) => {
    const { said, status } = gate(version)
    expect(status).toBe(2)
    expect(said).toMatch(/^Vouchsafe needs Node 20\.19 or later, .+: get Node 24 from https:\S+, or with nvm: .+\n$/)
    expect(said).toContain(`this is Node ${version}`)
  })

  it.each(['20.19.0', '20.20.2', '22.12.0', '24.0.0', '26.1.0'])('%s is none', (version) => {
    expect(gate(version)).toEqual({ said: '', status: undefined })
  })

  it('is the one that package.json excludes', () => {
    expect(manifest.engines.node).toBe('>=20.19')
  })

  it('meets that before anything else of the command', () => {
    const [first, second] = text(COMMAND).split('\n')
    expect(first).toBe('#!/usr/bin/env node')
    expect(second).toContain('process.versions.node.split')
  })

  it.each(scripts.filter((name) => text(join(BUILD, name)).includes('import ')))(
    'meets that before anything else of build/%s',
    (name) => {
      expect(/^import .*$/m.exec(text(join(BUILD, name)))?.[0]).toBe("import './node-version.cjs'")
    },
  )

  /** Imports an entry of the package, as a runtime that has certain versions. Returns the message of an error. */
  function importAs(entry: string, versions: object): string {
    const program = `Object.defineProperty(process, 'versions', { value: ${JSON.stringify(versions)} })
      import('vouchsafe/${entry}').then(() => console.log(''), (error) => console.log(error.message))`
    return spawnSync(process.execPath, ['-e', program], { cwd: ROOT, encoding: 'utf8' }).stdout
  }

  it.each(['client', 'server', 'component-test'])('meets that before anything else of vouchsafe/%s', (entry) => {
    const { said } = gate('18.20.8')
    expect(importAs(entry, { node: '18.20.8' })).toBe(said)
    expect(importAs(entry, { node: '20.18.3' })).toBe(said.replace('18.20.8', '20.18.3'))
    expect(importAs(entry, { node: '20.19.0' })).toBe('\n')
  })

  it('is neither Deno nor Bun', () => {
    expect(importAs('server', { node: '20.11.1', deno: '2.0.0' })).toBe('\n')
    expect(importAs('client', { node: '18.15.0', bun: '1.0.0' })).toBe('\n')
  })

  it('is not looked for by what runs in pages', async () => {
    for (const entry of ['client', 'server', 'element', 'component']) {
      const { outputFiles } = await build({
        stdin: { contents: `export * from 'vouchsafe/${entry}'`, resolveDir: ROOT },
        ...{ bundle: true, write: false, format: 'esm', platform: 'browser', logLevel: 'silent' },
      })
      expect(outputFiles[0]?.text).toMatch(/export ?\{/)
      expect(outputFiles[0]?.text).not.toMatch(/needs Node/)
    }
  })

  it('can parse everything that it meets', () => {
    const built = readdirSync(dirname(COMMAND)).filter((name) => name.endsWith('.cjs'))
    const entries = readdirSync(join(dirname(COMMAND), 'sdk', 'node')).map((name) => join('sdk', 'node', name))
    const files = [
      ...[...built, ...entries].map((name) => join(dirname(COMMAND), name)),
      ...scripts.map((name) => join(BUILD, name)),
    ]
    // The oldest version of Node cannot read the syntax that esbuild would have to write in another way.
    const written = (file: string, target: string): string =>
      transformSync(text(file), { target, format: file.endsWith('.cjs') ? 'cjs' : 'esm' }).code
    expect(files.filter((file) => written(file, 'node18.19') !== written(file, 'esnext'))).toEqual([])
  })
})

describe('packages', () => {
  const versions = { '': {}, 'node_modules/a': { version: '1.0.0' } }

  function folder(locked: object, installed: object | undefined): string {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'package-lock.json'), JSON.stringify({ packages: locked }))
    if (installed === undefined) return directory
    mkdirSync(join(directory, 'node_modules'))
    writeFileSync(join(directory, 'node_modules', '.package-lock.json'), JSON.stringify({ packages: installed }))
    return directory
  }

  it.each<[string, object, object | undefined, boolean]>([
    ['none', versions, undefined, true],
    ['the ones of the lock file', versions, { 'node_modules/a': { version: '1.0.0' } }, false],
    ['another version', versions, { 'node_modules/a': { version: '1.0.1' } }, true],
    ['none for other platforms', { 'node_modules/a': { version: '1.0.0', optional: true } }, {}, false],
    ['none for development', { 'node_modules/a': { version: '1.0.0', dev: true } }, {}, true],
  ])('are installed where npm installed %s: then %s lack', (_, locked, installed, isLacking) => {
    const directory = folder(locked, installed)
    expect(lacking([directory])).toEqual(isLacking ? [directory] : [])
  })

  it('are all in the bundles: an installation brings none but the optional ones', () => {
    expect(manifest.dependencies).toBeUndefined()
    const files = readdirSync(dirname(COMMAND), { recursive: true, encoding: 'utf8' })
    const bundles = files.filter((name) => name.endsWith('.cjs'))
    const required = bundles.flatMap((name) =>
      [...text(join(dirname(COMMAND), name)).matchAll(/\b(?:require|import)\("([^".][^"]*)"\)/g)].map(
        ([, to = '']) => to,
      ),
    )
    // Ajv writes its own into the text of modules that it makes for others; the rest is loaded only where a package is
    // installed that is not.
    const neverLoaded =
      /^(ajv\/dist\/runtime\/\w+|@fastify\/(ajv|fast-json-stringify)-compiler|pg-(native|cloudflare))$/
    const outside = required.filter((to) => !isBuiltin(to) && !neverLoaded.test(to))
    const packages = outside.map((to) =>
      to
        .split('/')
        .slice(0, to.startsWith('@') ? 2 : 1)
        .join('/'),
    )
    const { optionalDependencies, peerDependencies } = manifest
    const installed = Object.keys({ ...optionalDependencies, ...peerDependencies })
    expect([...new Set(packages)].sort()).toEqual(installed.sort())
  })

  it.each([
    ['npm error code EROFS\nnpm error rofs EROFS: read-only file system', /may not write/],
    ['npm error code EACCES\nnpm error Error: EACCES: permission denied', /may not write/],
    ['npm error code ENOSPC', /disk is full/],
    ['npm error code ENOTFOUND\nnpm error network', /registry must be reachable/],
    ['spawnSync npm ENOENT', /no npm on the path/],
  ])('that cannot be installed: after %j', (told, advice) => {
    expect(adviceOn(told)).toMatch(advice)
  })
})

it.each(['start', 'test', 'check', 'pack', 'bundle'])('%s says so where the checkout cannot be written', (word) => {
  const directory = temporaryDirectory()
  cpSync(BUILD, join(directory, 'build'), { recursive: true, filter: (source) => !source.includes('node_modules') })
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(ROOT, name), join(directory, name))
  for (const name of TESTED_WITH) {
    cpSync(join(ROOT, name, 'package-lock.json'), join(directory, name, 'package-lock.json'))
  }
  chmodSync(directory, 0o555)
  // The superuser may write anywhere.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const ended = spawnSync(process.execPath, [`build/${word}.js`], { cwd: directory, encoding: 'utf8', ...user })
  chmodSync(directory, 0o755)
  expect([ended.status, ended.stderr]).toEqual([1, expect.stringContaining('cannot be written')])
  expect(ended.stderr).not.toContain('registry')
})
