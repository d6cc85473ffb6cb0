// Prepares a release (docs/decisions/0022-releases.md): moves what is unreleased in the changelog below the version,
// sets the version where it is written, and shows the notes of the release. It commits and publishes nothing. With
// --check it tells whether this commit is the release that its files name; `npm publish` asks that first.
import './node-version.cjs'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const BRANCH = 'main'
const OTHERS = [
  'src/bin/command-line.ts',
  'deploy/helm/vouchsafe/Chart.yaml',
  'docs/how-to/containers.md',
  'docs/operating.md',
]
const EMPTY = '## Unreleased\n\n'
const SEMVER = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/
const USAGE = 'Write npm run release -- VERSION, or npm run release -- --notes VERSION, or npm run release -- --check.'
const root = join(import.meta.dirname, '..')
const read = (file) => readFileSync(join(root, file), 'utf8')
const git = (...words) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim()

const [first, second, ...others] = process.argv.slice(2)
const wantsNotes = first === '--notes'
const wantsCheck = first === '--check'
const version = wantsCheck ? JSON.parse(read('package.json')).version : wantsNotes ? second : first
if (version === undefined || others.length > 0 || (!wantsNotes && second !== undefined)) refuse(USAGE)
if (!SEMVER.test(version)) refuse(`${version} is not a version, which is three numbers, such as 1.2.3. ${USAGE}`)
if (wantsCheck) check()
else if (wantsNotes) process.stdout.write(`${notesOf(version)}\n`)
else release()

/** Changes the files when nothing stands against it, and says what comes next. */
function release() {
  const problem = versionProblem() ?? repositoryProblem()
  if (problem !== undefined) refuse(problem)
  const changelog = read('CHANGELOG.md')
  const section = sections(changelog).find(({ title }) => /^Unreleased\b/.test(title))
  if (section === undefined) refuse('CHANGELOG.md has no heading "## Unreleased": write it above the newest release.')
  if (!/^- /m.test(section.text)) refuse('Nothing is unreleased: CHANGELOG.md has no entry under Unreleased.')
  const date = new Date().toISOString().slice(0, 10)
  const released = `${EMPTY}## ${version} (${date})\n\n${section.text}\n${section.isLast ? '' : '\n'}`
  const written = changelog.slice(0, section.start) + released + changelog.slice(section.end)
  const last = JSON.parse(read('package.json')).version
  const manifest = { ...JSON.parse(read('package.json')), version }
  const lock = JSON.parse(read('package-lock.json'))
  const packages = { ...lock.packages, '': { ...lock.packages[''], version } }
  writeFileSync(join(root, 'CHANGELOG.md'), written)
  writeJson('package.json', manifest)
  writeJson('package-lock.json', { ...lock, version, packages })
  for (const file of OTHERS) writeFileSync(join(root, file), read(file).replaceAll(last, version))
  process.stdout.write(`${notesOf(version)}\n`)
  process.stderr.write(nextCommands())
}

/** Says that this commit is the release of its version, or why it is none. */
function check() {
  const problem = mismatch() ?? tagProblem()
  if (problem !== undefined) refuse(problem)
  process.stdout.write(`This commit is the release ${version}.\n`)
}

/** Returns which file has another version than package.json. */
function mismatch() {
  const lock = JSON.parse(read('package-lock.json'))
  if (lock.version !== version || lock.packages[''].version !== version)
    return `package-lock.json has another version than package.json, ${version}.`
  const file = OTHERS.find((other) => !read(other).includes(version))
  if (file !== undefined) return `${file} does not have the version of package.json, ${version}.`
  const newest = sections(read('CHANGELOG.md')).find(({ title }) => !/^Unreleased\b/.test(title))
  if (newest?.title.split(' ')[0] !== version)
    return `The newest release of CHANGELOG.md is ${newest?.title}, and the version of package.json ${version}.`
}

/** Returns why this commit does not have the tag of the release. */
function tagProblem() {
  if (!git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`))
    return `This commit has no tag v${version}, which marks a release: check out that tag, or make the release first.`
  if (git('status', '--porcelain') !== '') return 'The work tree has changes, which the tag does not have.'
}

/** Returns why the version cannot follow the last one, which package.json has. */
function versionProblem() {
  const last = JSON.parse(read('package.json')).version
  const [next, previous] = [version, last].map((text) => text.split('.').map(Number))
  const place = next.findIndex((number, index) => number !== previous[index])
  if (place < 0 || next[place] < previous[place]) return `${version} is not above ${last}, the last version.`
  if (sections(read('CHANGELOG.md')).some(({ title }) => title.split(' ')[0] === version))
    return `CHANGELOG.md has a release ${version} already.`
  if (git('tag', '--list', `v${version}`) !== '') return `There is a tag v${version} already.`
}

/** Returns why nothing is released from this work tree. */
function repositoryProblem() {
  const branch = git('rev-parse', '--abbrev-ref', 'HEAD')
  if (branch !== BRANCH) return `Releases are made on ${BRANCH}, and this is ${branch}: git switch ${BRANCH}.`
  if (git('status', '--porcelain') !== '') return 'The work tree has changes: commit them, or put them away, first.'
}

/** Returns the parts of the changelog below its headings of the second level, with their places. */
function sections(changelog) {
  const headings = [...changelog.matchAll(/^## (.+)\n/gm)]
  return headings.map((heading, index) => {
    const end = headings[index + 1]?.index ?? changelog.length
    const text = changelog.slice(heading.index + heading[0].length, end).trim()
    return { title: heading[1], start: heading.index, end, text, isLast: index === headings.length - 1 }
  })
}

function notesOf(name) {
  const section = sections(read('CHANGELOG.md')).find(({ title }) => title.split(' ')[0] === name)
  return section?.text ?? refuse(`CHANGELOG.md has no release ${name}.`)
}

function writeJson(file, value) {
  writeFileSync(join(root, file), `${JSON.stringify(value, undefined, 2)}\n`)
}

function nextCommands() {
  return `
Read the notes above, then:
  npm run docs && npm run check
  git commit --all --message "chore: release ${version}"
  git tag --annotate v${version} --message "Vouchsafe ${version}"
  git push --follow-tags
In a job of the CI, with its own identity (OpenID Connect), at the tag:
  npm ci && npm publish --provenance      # refuses a commit without this tag
A user verifies the signature and the provenance of what was installed:
  npm audit signatures
`
}

function refuse(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(2)
}
