// `npm run test:faults`: tries every fault, of which `npm test` tries some. `--write` writes
// docs/faults.md anew; other arguments go to vitest.
import './node-version.cjs'
import { install } from './install.js'
import { step } from './step.js'

/** Where the faults are tried; the last two files try clocks, beside other things. */
const FILES = ['test/faults', 'test/e2e/audit.test.ts', 'src/callback/deliver.test.ts']

process.stderr.write(
  'Takes databases away, kills processes, fills disks and floods connections: about three minutes.\n',
)

await install(['.'])
step('build', ['node', 'build/bundle.js'])
process.env.VOUCHSAFE_TEST_ALL = 'yes'
const args = process.argv.slice(2)
const reporters = args.includes('--write') ? ['--reporter=default', '--reporter=./build/faults-reporter.js'] : []
const vitest = ['node', 'node_modules/vitest/vitest.mjs', 'run', ...FILES, ...reporters]
step(`faults on Node ${process.versions.node}`, [...vitest, ...args.filter((each) => each !== '--write')])
