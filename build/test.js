// `npm test`: installs, builds and runs every test. Arguments go to vitest: npm test -- src/codec
import './node-version.cjs'
import { install, lacking, TESTED_WITH } from './install.js'
import { step } from './step.js'

const args = process.argv.slice(2)
const folders = ['.', ...TESTED_WITH]
const missing = lacking(folders).map((folder) => (folder === '.' ? 'those of package.json' : `those of ${folder}`))
const installs =
  missing.length === 0
    ? 'All packages are installed.'
    : `Installs packages first: ${missing.join(', ')} (up to 1 GB, some minutes, once).`
const takes =
  args.length === 0
    ? 'Runs every test, on SQLite and on PostgreSQL: about six minutes on two quiet cores (npm test -- src/codec runs some).'
    : `Runs the tests of ${args.join(' ')}.`
process.stderr.write(`${takes}\n${installs}\n`)

install(folders)
step('build', ['node', 'build/bundle.js'])
step(`tests on Node ${process.versions.node}`, ['node', 'node_modules/vitest/vitest.mjs', 'run', ...args])
