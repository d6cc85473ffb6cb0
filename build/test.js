// `npm test`: installs, builds and runs the tests. Arguments go to vitest: npm test -- src/codec
import './node-version.cjs'
import { install, lacking } from './install.js'
import { step } from './step.js'

const args = process.argv.slice(2)
const installs =
  lacking(['.']).length === 0
    ? 'All packages are installed.'
    : 'Installs packages first (some 320 MB on the disk, once).'
const takes =
  args.length === 0
    ? 'Runs the tests, on SQLite and on PostgreSQL: about four minutes on two quiet cores (npm test -- src/codec runs some, VOUCHSAFE_TEST_ALL=yes npm test all).'
    : `Runs the tests of ${args.join(' ')}.`
process.stderr.write(`${takes}\n${installs}\n`)

await install(['.'])
step('build', ['node', 'build/bundle.js'])
step(`tests on Node ${process.versions.node}`, ['node', 'node_modules/vitest/vitest.mjs', 'run', ...args])
