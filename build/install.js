// Installs the packages that a command needs and that are not there: npm notes in node_modules what it installed.
import './node-version.cjs'
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = join(import.meta.dirname, '..')

/**
 * Folders with packages of their own, beside those of the product: what tests compare with, and what makes the site.
 */
export const TESTED_WITH = ['test/interop', 'test/contracts', 'test/browser', 'docs/site', 'build/sbom']

/** Returns the folders among these whose packages are not installed as their lock file has them. */
export function lacking(folders) {
  return folders.filter((folder) => !isInstalled(resolve(root, folder)))
}

/** Installs the packages of the folders that lack some. Ends the process where an installation fails. */
export function install(folders) {
  for (const folder of lacking(folders)) installFolder(folder)
}

/** Ends the process where this checkout cannot be written. */
export function refuseReadOnly() {
  try {
    accessSync(root, constants.W_OK)
  } catch {
    stop(`${root} cannot be written, and node_modules/ and dist/ belong there: copy it to a folder of your own first.`)
  }
}

function isInstalled(path) {
  const installed = packagesOf(join(path, 'node_modules', '.package-lock.json'))
  return Object.entries(packagesOf(join(path, 'package-lock.json')))
    .filter(([name, { optional, devOptional }]) => name !== '' && !optional && !devOptional)
    .every(([name, { version }]) => installed[name]?.version === version)
}

function packagesOf(lockFile) {
  return existsSync(lockFile) ? JSON.parse(readFileSync(lockFile, 'utf8')).packages : {}
}

function installFolder(folder) {
  refuseReadOnly()
  const started = Date.now()
  process.stderr.write(`Installing packages for ${folder === '.' ? 'Vouchsafe' : folder} (once) ... `)
  // No package needs its install script, so none gets to run.
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, stdout, stderr, error } = npm(['ci', ...flags], join(root, folder))
  if (status !== 0) {
    const output = `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`
    stop(`failed\n${output}\n${adviceOn(output)}`)
  }
  process.stderr.write(`${((Date.now() - started) / 1000).toFixed(0)} s\n`)
}

/** Returns the next step for a person, by the text that npm printed. */
export function adviceOn(output) {
  if (/EROFS|EACCES|EPERM/.test(output))
    return `npm may not write where it has to: give yourself the folder (${root}), or copy it.`
  if (/ENOSPC/.test(output)) return 'The disk is full: make room, then run the same command again.'
  if (/ENOENT/.test(output) && /spawn/.test(output))
    return 'There is no npm on the path: install it beside Node, then run the same command again.'
  return 'The package registry must be reachable the first time; then run the same command again.'
}

function npm(args, cwd) {
  const options = { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }
  // Under `npm start` and `npm test`, the same npm; by itself, the one on the path.
  const script = process.env.npm_execpath
  return script?.endsWith('.js')
    ? spawnSync(process.execPath, [script, ...args], options)
    : spawnSync('npm', args, options)
}

function stop(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
