// Installs the packages that a command needs and that are not there: npm notes in node_modules what it installed.
import './node-version.cjs'
import { execFile } from 'node:child_process'
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

/** Installs the packages of the folders that lack some, all at once. Ends the process where an installation fails. */
export async function install(folders) {
  const lackingFolders = lacking(folders)
  if (lackingFolders.length === 0) return
  refuseReadOnly()
  const started = Date.now()
  const names = lackingFolders.map((folder) => (folder === '.' ? 'Vouchsafe' : folder)).join(', ')
  process.stderr.write(`Installing packages for ${names} (once) ... `)
  for (const output of await Promise.all(lackingFolders.map(installFolder))) {
    if (output !== undefined) stop(`failed\n${output}\n${adviceOn(output)}`)
  }
  process.stderr.write(`${((Date.now() - started) / 1000).toFixed(0)} s\n`)
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
  const noteOfNpm = join(path, 'node_modules', '.package-lock.json')
  const installed = existsSync(noteOfNpm) ? packagesOf(noteOfNpm) : {}
  return Object.entries(packagesOf(join(path, 'package-lock.json')))
    .filter(([name, { optional, devOptional }]) => name !== '' && !optional && !devOptional)
    .every(([name, { version }]) => installed[name]?.version === version)
}

function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages
}

/** Installs the packages of a folder. Resolves with what npm printed where that fails. */
function installFolder(folder) {
  // No package needs its install script, so none gets to run.
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  // Without a network, npm's second pause would be a minute.
  const args = ['ci', '--ignore-scripts', '--fetch-retry-maxtimeout=10000', ...quiet]
  const options = { cwd: join(root, folder), encoding: 'utf8', maxBuffer: 2 ** 26 }
  // Under `npm start` and `npm test`, the same npm; by itself, the one on the path.
  const script = process.env.npm_execpath
  const [program, ...words] = script?.endsWith('.js') ? [process.execPath, script, ...args] : ['npm', ...args]
  return new Promise((resolve) => {
    execFile(program, words, options, (error, stdout, stderr) => {
      resolve(error ? `${stdout}${stderr}${error.message}` : undefined)
    })
  })
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

function stop(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
