// Installs what a command needs and nothing twice: a stamp in node_modules says what is there already.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** `what` is 'run' (what the product needs at run time, and the bundler), 'pack' (the compiler too) or 'test' (everything). */
export function install(what) {
  const packages = [
    { directory: '.', flavour: what === 'run' ? 'run' : 'all' },
    { directory: 'build', flavour: 'all' },
    ...(what === 'test' ? ['test/interop', 'test/contracts'].map((directory) => ({ directory, flavour: 'all' })) : []),
  ]
  for (const { directory, flavour } of packages) installPackage(join(root, directory), directory, flavour)
}

function installPackage(path, name, flavour) {
  const lock = createHash('sha256')
    .update(readFileSync(join(path, 'package-lock.json')))
    .digest('hex')
  const stampFile = join(path, 'node_modules', '.vouchsafe-installed')
  const stamp = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : ''
  if (stamp === `${lock} all` || stamp === `${lock} ${flavour}`) return
  const started = Date.now()
  process.stderr.write(`Installing packages for ${name === '.' ? 'Vouchsafe' : name} (once) ... `)
  // Nothing here needs an install script, so none gets to run.
  const flags = [
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    ...(flavour === 'run' ? ['--omit=dev'] : []),
  ]
  const { status, stdout, stderr } = npm(['ci', ...flags], path)
  if (status !== 0) {
    process.stderr.write(
      `failed\n${stdout}${stderr}\nThe package registry must be reachable the first time; then run the same command again.\n`,
    )
    process.exit(1)
  }
  writeFileSync(stampFile, `${lock} ${flavour}`)
  process.stderr.write(`${((Date.now() - started) / 1000).toFixed(0)} s\n`)
}

function npm(args, cwd) {
  const options = { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }
  // Under `npm start` and `npm test`, the same npm; by itself, the one on the path.
  const script = process.env.npm_execpath
  return script?.endsWith('.js')
    ? spawnSync(process.execPath, [script, ...args], options)
    : spawnSync('npm', args, options)
}
