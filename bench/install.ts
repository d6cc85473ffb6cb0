/** How large is a production installation? It asks npm's cache first, and the registry for what is not there. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { note, show, table, type Verdict } from './report.ts'

const MAX_MEGABYTES = 60
const COMMAND = ['ci', '--omit=dev', '--omit=optional', '--ignore-scripts']
const QUIET = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']

export function measureInstall(root: string, bundleFile: string): Verdict {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-install-'))
  try {
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(root, name), join(directory, name))
    const clean = npm(COMMAND, directory)
    // The size can be told all the same.
    if (!clean && !npm(['install', ...COMMAND.slice(1)], directory)) throw new Error('npm cannot install the packages')
    const sizes = new Map(packagesOf(join(directory, 'node_modules')).map((path) => [path, diskBytes(path) / 1e6]))
    const packages = [...sizes.values()].reduce((sum, each) => sum + each, 0)
    const bundle = diskBytes(join(root, bundleFile)) / 1e6
    const largest = [...sizes].sort(([, a], [, b]) => b - a).slice(0, 5)
    show(
      table(
        ['production installation', 'MB on disk'],
        [
          [`${sizes.size} packages`, packages.toFixed(1)],
          ...largest.map(([path, size]) => [
            `  ${path.slice(directory.length + '/node_modules/'.length)}`,
            size.toFixed(1),
          ]),
          [bundleFile, bundle.toFixed(1)],
        ],
      ),
    )
    const total = packages + bundle
    return {
      section: 'install',
      options: { command: `npm ${COMMAND.join(' ')}` },
      results: { packages: sizes.size, packagesMegabytes: packages, bundleMegabytes: bundle },
      targets: [
        { target: 'npm ci accepts package-lock.json', reached: clean, figure: clean ? 'it does' : 'it refuses' },
        {
          target: `installation under ${MAX_MEGABYTES} MB`,
          reached: total < MAX_MEGABYTES,
          figure: `${total.toFixed(1)} MB`,
        },
      ],
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Whether npm did it; what it says goes to stderr. */
function npm(command: readonly string[], directory: string): boolean {
  note(`npm ${command.join(' ')}`)
  const windows = process.platform === 'win32'
  const { status } = spawnSync('npm', [...command, ...QUIET], {
    cwd: directory,
    stdio: ['ignore', 2, 2],
    shell: windows,
  })
  return status === 0
}

function packagesOf(modules: string): string[] {
  return readdirSync(modules).flatMap((name) =>
    name.startsWith('@')
      ? readdirSync(join(modules, name)).map((inner) => join(modules, name, inner))
      : join(modules, name),
  )
}

/** What `du` counts: the blocks that are taken, directories included. */
function diskBytes(path: string): number {
  const found = lstatSync(path)
  const inner = found.isDirectory() ? readdirSync(path).map((name) => diskBytes(join(path, name))) : []
  return inner.reduce((sum, each) => sum + each, found.blocks * 512)
}
