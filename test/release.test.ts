/** Tests what `npm run release` does to a changelog and to the manifests, in a repository of its own. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from './support/command.ts'

const ROOT = join(import.meta.dirname, '..')
const INTRODUCTION = '# Changelog\n\nWhat changes.\n\n'
const NOTES = '### Added\n\n- A thing.\n\n### What you must do when you upgrade\n\n- Nothing.'
const OLDER = '## 0.1.0\n\n### Added\n\n- The first thing.\n'
const OTHERS = ['src/bin/terminal/command-line.ts', 'deploy/helm/vouchsafe/Chart.yaml']
const today = (): string => new Date().toISOString().slice(0, 10)

/** Returns a repository with the script, and with what the changelog says of unreleased changes. */
function repository(unreleased = `## Unreleased (0.2.0)\n\n${NOTES}\n\n`) {
  const root = temporaryDirectory()
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example', '-c', 'core.hooksPath=none', ...words], {
      cwd: root,
    })
  mkdirSync(join(root, 'build'))
  for (const file of ['build/release.js', 'build/node-version.cjs', 'package.json', 'package-lock.json', ...OTHERS])
    cpSync(join(ROOT, file), join(root, file))
  const read = (file: string): string => readFileSync(join(root, file), 'utf8')
  const write = (file: string, text: string): void => writeFileSync(join(root, file), text)
  for (const file of ['package.json', 'package-lock.json'])
    write(file, read(file).replaceAll(/("name": "vouchsafe",\s+"version": )"[^"]*"/g, '$1"0.2.0-dev"'))
  write(OTHERS[0] ?? '', "export const PACKAGE_VERSION = '0.2.0-dev'\n")
  write(OTHERS[1] ?? '', 'version: 0.2.0-dev\nappVersion: "0.2.0-dev"\n')
  write('CHANGELOG.md', `${INTRODUCTION}${unreleased}${OLDER}`)
  git('init', '--quiet', '--initial-branch', 'main')
  git('add', '.')
  git('commit', '--quiet', '--message', 'first')
  const release = (...words: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['build/release.js', ...words], {
      cwd: root,
      encoding: 'utf8',
    })
    return { status, stdout, stderr }
  }
  return { git, read, write, release }
}

describe('a release', () => {
  it('moves what is unreleased below the version and its date, and begins anew', () => {
    const { read, release } = repository()
    const { status, stdout, stderr } = release('0.2.0')
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${NOTES}\n` })
    expect(read('CHANGELOG.md')).toBe(`${INTRODUCTION}## Unreleased\n\n## 0.2.0 (${today()})\n\n${NOTES}\n\n${OLDER}`)
    for (const command of ['chore: release 0.2.0', 'v0.2.0', 'npm publish --provenance', 'npm audit signatures'])
      expect(stderr).toContain(command)
  })

  it('sets the version in the manifests, the command and the chart, and changes nothing else there', () => {
    const { git, read, release } = repository()
    release('0.2.0')
    const lock = JSON.parse(read('package-lock.json')) as { version: string; packages: { '': { version: string } } }
    expect([lock.version, lock.packages[''].version]).toEqual(['0.2.0', '0.2.0'])
    expect(OTHERS.map(read)).toEqual([
      "export const PACKAGE_VERSION = '0.2.0'\n",
      'version: 0.2.0\nappVersion: "0.2.0"\n',
    ])
    const counts = git('diff', '--numstat', '--', 'package.json', 'package-lock.json').toString()
    expect(counts).toBe('2\t2\tpackage-lock.json\n1\t1\tpackage.json\n')
  })

  it('can be followed by the next one, whose version main has with -dev until then', () => {
    const { git, read, release, write } = repository()
    release('0.2.0')
    git('commit', '--quiet', '--all', '--message', 'second')
    expect(release('0.3.0')).toMatchObject({ status: 2, stderr: expect.stringContaining('no entry') as string })
    expect(release('--next', '0.3.0')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('0.3.0-dev') as string,
    })
    expect(read('CHANGELOG.md')).toContain(`## Unreleased (0.3.0)\n\n## 0.2.0 (${today()})\n`)
    expect(OTHERS.map(read)).toEqual([
      "export const PACKAGE_VERSION = '0.3.0-dev'\n",
      'version: 0.3.0-dev\nappVersion: "0.3.0-dev"\n',
    ])
    const entry = '## Unreleased (0.3.0)\n\n### Fixed\n\n- It.\n'
    write('CHANGELOG.md', read('CHANGELOG.md').replace('## Unreleased (0.3.0)\n', entry))
    git('commit', '--quiet', '--all', '--message', 'third')
    expect(release('0.10.0')).toMatchObject({ status: 0, stdout: '### Fixed\n\n- It.\n' })
  })

  it('can be announced with a higher version before it is made', () => {
    const { read, release } = repository()
    expect(release('--next', '1.0.0')).toMatchObject({ status: 0 })
    expect(read('CHANGELOG.md')).toContain(`## Unreleased (1.0.0)\n\n${NOTES}\n`)
    expect(JSON.parse(read('package.json'))).toMatchObject({ version: '1.0.0-dev' })
  })

  it('has its notes printed, also of an older one', () => {
    const { release } = repository()
    expect(release('--notes', '0.1.0')).toEqual({ status: 0, stdout: '### Added\n\n- The first thing.\n', stderr: '' })
    expect(release('--notes', '0.9.0')).toMatchObject({ status: 2, stderr: 'CHANGELOG.md has no release 0.9.0.\n' })
  })
})

describe('the check of a release', () => {
  const released = () => {
    const made = repository()
    made.release('0.2.0')
    made.git('commit', '--quiet', '--all', '--message', 'chore: release 0.2.0')
    return made
  }

  it('says so at its tag, and refuses a commit without the tag, or after it', () => {
    const { git, release, write } = released()
    expect(release('--check')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('has no tag v0.2.0') as string,
    })
    git('tag', '--annotate', 'v0.2.0', '--message', 'Vouchsafe 0.2.0')
    expect(release('--check')).toEqual({ status: 0, stdout: 'This commit is the release 0.2.0.\n', stderr: '' })
    write('new.txt', '')
    expect(release('--check')).toMatchObject({ status: 2, stderr: expect.stringContaining('work tree') as string })
    git('add', '.')
    git('commit', '--quiet', '--message', 'later')
    expect(release('--check')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('has no tag v0.2.0') as string,
    })
  })

  it('refuses what main is before a release, which is none', () => {
    const { release } = repository()
    expect(release('--check')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('0.2.0-dev is what main is before the release 0.2.0') as string,
    })
  })

  it('refuses changes after a release that have its version, and a version with -dev that the changelog does not have', () => {
    const { read, release, write } = released()
    write('CHANGELOG.md', read('CHANGELOG.md').replace('## Unreleased\n', '## Unreleased\n\n### Fixed\n\n- It.\n'))
    expect(release('--check')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('changes after the release 0.2.0: npm run release -- --next') as string,
    })
    const unreleased = repository('## Unreleased (0.3.0)\n\n### Fixed\n\n- It.\n\n')
    expect(unreleased.release('--check')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('no heading "## Unreleased (0.2.0)"') as string,
    })
  })

  it.each([
    ['package-lock.json', '"version": "0.2.0"', 'package-lock.json has another version'],
    [OTHERS[0] ?? '', '0.2.0', 'does not have the version'],
    ['CHANGELOG.md', '## 0.2.0', 'The newest release of CHANGELOG.md is 0.1.9'],
  ])('refuses another version in %s', (file, text, sentence) => {
    const { read, release, write } = released()
    write(file, read(file).replace(text, text.replace('0.2.0', '0.1.9')))
    expect(release('--check')).toMatchObject({ status: 2, stderr: expect.stringContaining(sentence) as string })
  })

  it('finds versions and changelog of this repository together', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['build/release.js', '--check'], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    expect(stdout + stderr).toMatch(
      /is what main is before the release|has no tag|This commit is the release|work tree/,
    )
  })
})

describe('a release is refused, and changes nothing, for', () => {
  it.each([
    ['no version', [], 'npm run release -- VERSION'],
    ['a word too many', ['0.2.0', '0.3.0'], 'npm run release -- VERSION'],
    ['a version with a letter', ['v0.2.0'], 'is not a version'],
    ['a version of two numbers', ['0.2'], 'is not a version'],
    ['a version with a leading zero', ['0.02.0'], 'is not a version'],
    ['a version with -dev', ['0.2.0-dev'], 'is not a version'],
    ['a lower version', ['0.1.9'], 'is below 0.2.0-dev'],
    ['no next version', ['--next'], 'npm run release -- --next VERSION'],
    ['the next version with -dev', ['--next', '0.3.0-dev'], 'is not a version'],
    ['a next version that main has', ['--next', '0.2.0'], 'is not above 0.2.0-dev'],
  ])('%s', (_, words, sentence) => {
    const { git, release } = repository()
    expect(release(...words)).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining(sentence) as string,
    })
    expect(git('status', '--porcelain').toString()).toBe('')
  })

  it('the same version again', () => {
    const { git, release } = repository()
    release('0.2.0')
    git('commit', '--quiet', '--all', '--message', 'second')
    expect(release('0.2.0')).toMatchObject({ status: 2, stderr: '0.2.0 is not above 0.2.0, the version of main.\n' })
    expect(release('--next', '0.1.9')).toMatchObject({
      status: 2,
      stderr: '0.1.9 is not above 0.2.0, the version of main.\n',
    })
  })

  it.each([
    ['an empty Unreleased', '## Unreleased\n\n### Added\n\n', 'no entry under Unreleased'],
    ['no Unreleased', '', 'no heading "## Unreleased"'],
    ['a version that the changelog has', `## Unreleased\n\n${NOTES}\n\n## 0.2.0 (2026-01-01)\n\n- A.\n\n`, 'already'],
  ])('%s', (_, unreleased, sentence) => {
    const { git, release } = repository(unreleased)
    expect(release('0.2.0')).toMatchObject({ status: 2, stderr: expect.stringContaining(sentence) as string })
    expect(git('status', '--porcelain').toString()).toBe('')
  })

  it('a version that has a tag', () => {
    const { git, release } = repository()
    git('tag', 'v0.2.0')
    expect(release('0.2.0')).toMatchObject({ status: 2, stderr: 'There is a tag v0.2.0 already.\n' })
  })

  it('changes in the work tree', () => {
    const { release, write } = repository()
    write('new.txt', '')
    expect(release('0.2.0')).toMatchObject({ status: 2, stderr: expect.stringContaining('work tree') as string })
  })

  it('another branch', () => {
    const { git, release } = repository()
    git('switch', '--quiet', '--create', 'other')
    expect(release('0.2.0')).toMatchObject({ status: 2, stderr: expect.stringContaining('this is other') as string })
  })
})
