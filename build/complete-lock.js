// Completes a package-lock.json: npm leaves out the packages for other platforms that it could not see when it wrote
// the file, and `npm ci` then refuses it everywhere. Each gets the digest that the registry has of it: without one, npm
// would take whatever came. Run after a change of dependencies: node build/complete-lock.js [folder]
import './node-version.cjs'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const file = join(process.argv[2] ?? '.', 'package-lock.json')
const lock = JSON.parse(readFileSync(file, 'utf8'))

const SYSTEMS = ['android', 'darwin', 'linux', 'win32', 'freebsd', 'openbsd', 'netbsd', 'sunos', 'aix', 'openharmony']
const PROCESSORS = ['arm64', 'x64', 'arm', 'ia32', 'riscv64', 'ppc64', 's390x', 'loong64', 'mips64el', 'wasm32']

for (const { optionalDependencies = {} } of Object.values(lock.packages).slice(1)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const words = name.split(/[-/@]/)
    const os = SYSTEMS.filter((system) => words.includes(system))
    const cpu = PROCESSORS.filter((processor) => words.includes(processor))
    // npm finds a package for every platform by itself, and a range is not a version.
    if ((os.length === 0 && cpu.length === 0) || !/^\d/.test(version)) continue
    lock.packages[`node_modules/${name}`] ??= {
      version,
      integrity: integrityOf(`${name}@${version}`),
      ...(cpu.length > 0 ? { cpu } : {}),
      dev: true,
      optional: true,
      ...(os.length > 0 ? { os } : {}),
    }
  }
}

function integrityOf(release) {
  const integrity = execFileSync('npm', ['view', release, 'dist.integrity'], { encoding: 'utf8' }).trim()
  if (integrity !== '') return integrity
  throw new Error(`${release} is not in the registry: take a release that it has for every platform`)
}

const [root, ...others] = Object.entries(lock.packages)
lock.packages = Object.fromEntries([root, ...others.sort(([a], [b]) => (a < b ? -1 : 1))])
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
