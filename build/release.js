// Prepares a release (docs/decisions/0022-releases.md): moves what is unreleased in the changelog below the version,
// sets the version where it is written, and shows the notes of the release. It commits and publishes nothing. With
// --next it gives main the version of the next release with `-dev`. With --check it tells whether this commit is the
// release that its files name; `npm publish` asks that first.
import './node-version.cjs'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const BRANCH = 'main'
const OTHERS = ['src/bin/terminal/command-line.ts', 'deploy/helm/vouchsafe/Chart.yaml']
const EMPTY = '## Unreleased\n\n'
/** The end of the version that main has before a release. */
const DEV = '-dev'
const SEMVER = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/
const USAGE = `Write npm run release -- VERSION, or npm run release -- --next VERSION, or npm run release -- --notes VERSION,
or npm run release -- --check.`
const root = join(import.meta.dirname, '..')
const read = (file) => readFileSync(join(root, file), 'utf8')
const git = (...words) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim()

/** The version in package.json: that of a release, or with -dev that of the next one. */
const last = JSON.parse(read('package.json')).version
const lastNumbers = last.replace(DEV, '')
const [first, second, ...others] = process.argv.slice(2)
const isCheck = first === '--check'
const hasMode = isCheck || first === '--next' || first === '--notes'
const version = isCheck ? lastNumbers : hasMode ? second : first
if (version === undefined || others.length > 0 || (version !== second && second !== undefined)) refuse(USAGE)
if (!SEMVER.test(version)) refuse(`${version} is not a version, which is three numbers, such as 1.2.3. ${USAGE}`)
if (isCheck) check()
else if (first === '--notes') process.stdout.write(`${notesOf(version)}\n`)
else if (first === '--next') beginNext()
else release()

/** Changes the files when nothing stands against it, and says what comes next. */
function release() {
  const problem = versionProblem() ?? repositoryProblem()
  if (problem !== undefined) refuse(problem)
  const section = requireUnreleased()
  if (!hasEntries(section)) refuse('Nothing is unreleased: CHANGELOG.md has no entry under Unreleased.')
  const date = new Date().toISOString().slice(0, 10)
  writeSection(section, `${EMPTY}## ${version} (${date})\n\n${section.text}\n${section.isLast ? '' : '\n'}`)
  setVersion(version)
  process.stdout.write(`${notesOf(version)}\n`)
  process.stderr.write(nextCommands())
}

/** Gives main the version of the next release with -dev, and names it in the heading of what is unreleased. */
function beginNext() {
  const problem = nextProblem() ?? repositoryProblem()
  if (problem !== undefined) refuse(problem)
  const section = requireUnreleased()
  writeSection(section, `## Unreleased (${version})\n\n${section.text === '' ? '' : `${section.text}\n\n`}`)
  setVersion(version + DEV)
  process.stdout.write(`This is ${version + DEV} now:\n  git commit --all --message "chore: begin ${version}"\n`)
}

/** Returns the section of what is unreleased. */
function requireUnreleased() {
  const section = unreleasedSection()
  return section ?? refuse('CHANGELOG.md has no heading "## Unreleased": write it above the newest release.')
}

function unreleasedSection() {
  return sections(read('CHANGELOG.md')).find(({ title }) => /^Unreleased\b/.test(title))
}

function hasEntries({ text }) {
  return /^- /m.test(text)
}

/** Writes a text in the place of a section of the changelog. */
function writeSection({ start, end }, text) {
  const changelog = read('CHANGELOG.md')
  writeFileSync(join(root, 'CHANGELOG.md'), changelog.slice(0, start) + text + changelog.slice(end))
}

/** Sets the version in all files that have it. */
function setVersion(next) {
  const lock = JSON.parse(read('package-lock.json'))
  const packages = { ...lock.packages, '': { ...lock.packages[''], version: next } }
  writeJson('package.json', { ...JSON.parse(read('package.json')), version: next })
  writeJson('package-lock.json', { ...lock, version: next, packages })
  for (const file of OTHERS) writeFileSync(join(root, file), read(file).replaceAll(last, next))
}

/** Says that this commit is the release of its version, or why it is none. */
function check() {
  const problem = mismatch() ?? devProblem() ?? tagProblem()
  if (problem !== undefined) refuse(problem)
  process.stdout.write(`This commit is the release ${version}.\n`)
}

/** Returns which file has another version than package.json. */
function mismatch() {
  const lock = JSON.parse(read('package-lock.json'))
  if (lock.version !== last || lock.packages[''].version !== last)
    return `package-lock.json has another version than package.json, ${last}.`
  const file = OTHERS.find((other) => !hasVersion(read(other)))
  if (file !== undefined) return `${file} does not have the version of package.json, ${last}.`
  const unreleased = unreleasedSection()
  if (last !== lastNumbers)
    return unreleased?.title === `Unreleased (${version})`
      ? undefined
      : `CHANGELOG.md has no heading "## Unreleased (${version})", and the version of package.json is ${last}.`
  if (unreleased !== undefined && hasEntries(unreleased))
    return `CHANGELOG.md has changes after the release ${version}: npm run release -- --next VERSION begins the next one.`
  const newest = sections(read('CHANGELOG.md')).find(({ title }) => !/^Unreleased\b/.test(title))
  if (newest?.title.split(' ')[0] !== version)
    return `The newest release of CHANGELOG.md is ${newest?.title}, and the version of package.json ${version}.`
}

/** Tests whether a text has the version of package.json, and not only as the beginning of that with -dev. */
function hasVersion(text) {
  return (last === lastNumbers ? text.replaceAll(last + DEV, '') : text).includes(last)
}

/** Returns why the version of main before a release is none. */
function devProblem() {
  if (last !== lastNumbers)
    return `${last} is what main is before the release ${version}, which npm run release -- ${version} makes.`
}

/** Returns why this commit does not have the tag of the release. */
function tagProblem() {
  if (!git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`))
    return `This commit has no tag v${version}, which marks a release: check out that tag, or make the release first.`
  if (git('status', '--porcelain') !== '') return 'The work tree has changes, which the tag does not have.'
}

/** Returns why the version cannot be released after that of main. */
function versionProblem() {
  if (last !== lastNumbers && compareWithLast() < 0) return `${version} is below ${last}, the version of main.`
  return (last === lastNumbers ? nextProblem() : undefined) ?? takenProblem()
}

/** Returns why the version cannot be that of the next release. */
function nextProblem() {
  if (compareWithLast() <= 0) return `${version} is not above ${last}, the version of main.`
}

/** Returns why there cannot be a release of this version. */
function takenProblem() {
  if (sections(read('CHANGELOG.md')).some(({ title }) => title.split(' ')[0] === version))
    return `CHANGELOG.md has a release ${version} already.`
  if (git('tag', '--list', `v${version}`) !== '') return `There is a tag v${version} already.`
}

/** Compares the numbers of the version with those of package.json. */
function compareWithLast() {
  const [next, previous] = [version, lastNumbers].map((text) => text.split('.').map(Number))
  const place = next.findIndex((number, index) => number !== previous[index])
  return place < 0 ? 0 : next[place] - previous[place]
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
Then, on ${BRANCH}, with the version that the next release will have:
  npm run release -- --next VERSION
`
}

function refuse(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(2)
}
