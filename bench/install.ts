/** Measures how large a production installation of the packed package is, without optional packages and with them. */
import { spawnSync } from 'node:child_process'
import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { note, show, table, type Verdict } from './report.ts'

const MAX_MEGABYTES = 60
const OPTIONS = ['--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']

export function measureInstall(root: string): Verdict {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-install-'))
  try {
    npm(['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', directory], root)
    const [archive = ''] = readdirSync(directory).filter((name) => name.endsWith('.tgz'))
    const small = installedMegabytes(directory, archive, ['--omit=optional'])
    const whole = installedMegabytes(directory, archive, [])
    show(
      table(
        ['production installation', 'MB on disk'],
        [
          ['without optional packages (Node 22.13 and later)', small.toFixed(1)],
          ['with them (Node 20)', whole.toFixed(1)],
        ],
      ),
    )
    return {
      section: 'install',
      options: { command: `npm install ${OPTIONS.join(' ')} ${archive}` },
      results: { withoutOptionalMegabytes: small, wholeMegabytes: whole },
      targets: [
        {
          target: `installation under ${MAX_MEGABYTES} MB`,
          reached: whole < MAX_MEGABYTES,
          figure: `${whole.toFixed(1)} MB`,
        },
      ],
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function installedMegabytes(directory: string, archive: string, options: readonly string[]): number {
  const modules = join(directory, 'node_modules')
  rmSync(modules, { recursive: true, force: true })
  writeFileSync(join(directory, 'package.json'), '{ "private": true }')
  npm(
    ['install', '--no-save', '--no-package-lock', '--prefer-offline', ...OPTIONS, ...options, `./${archive}`],
    directory,
  )
  return diskBytes(modules) / 1e6
}

/** Runs npm, whose output goes to stderr. Throws when it fails. */
function npm(command: readonly string[], directory: string): void {
  note(`npm ${command.join(' ')}`)
  const stdio: ['ignore', 2, 2] = ['ignore', 2, 2]
  const { status } = spawnSync('npm', command, { cwd: directory, stdio, shell: process.platform === 'win32' })
  if (status !== 0) throw new Error(`npm ${command[0] ?? ''} failed`)
}

/** Adds up the blocks that a path takes on the disk, directories included, as `du` does. */
function diskBytes(path: string): number {
  const entry = lstatSync(path)
  const inner = entry.isDirectory() ? readdirSync(path).map((name) => diskBytes(join(path, name))) : []
  return inner.reduce((sum, each) => sum + each, entry.blocks * 512)
}
