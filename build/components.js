// The components that come with Vouchsafe: components/<name>/component.ts as a script.
import './node-version.cjs'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const command = join(root, 'dist', 'vouchsafe.cjs')
const components = join(root, 'components')

/**
 * Makes `<name>.js` of each in `dist/components`. The command makes the scripts, as it
 * does for any author: the same sources have the same bytes, and so the same hash.
 */
export function buildComponents() {
  const directory = join(root, 'dist', 'components')
  mkdirSync(directory, { recursive: true })
  for (const name of readdirSync(components)) {
    const source = join(components, name, 'component.ts')
    if (existsSync(source)) {
      const args = ['component', 'build', source, '--out', join(directory, `${name}.js`)]
      execFileSync(process.execPath, [command, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
    }
  }
}

if (process.argv[1] === import.meta.filename) buildComponents()
