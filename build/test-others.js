// `npm run test:others`: installs the packages of other parties, builds, and runs the tests that need these. Arguments
// go to vitest.
import './node-version.cjs'
import { install, lacking, TESTED_WITH } from './install.js'
import { step } from './step.js'

const folders = ['.', ...TESTED_WITH]
const missing = lacking(folders)
const installs =
  missing.length === 0
    ? 'All packages are installed.'
    : `Installs packages first (up to 1 GB on the disk, once): ${missing.join(', ')}.`
process.stderr.write(
  `Runs Vouchsafe with implementations of other parties, and its contracts on a Hardhat node: some three minutes.\n${installs}\n`,
)

await install(folders)
step('build', ['node', 'build/bundle.js'])
const vitest = ['node', 'node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.others.config.js']
step(`tests on Node ${process.versions.node}`, [...vitest, ...process.argv.slice(2)])
