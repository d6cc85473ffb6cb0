// `npm run check`: everything CI asks of a change, in the order in which it fails fastest.
// `--fast` ends after the types, and `--no-tests` before the tests.
import './node-version.cjs'
import { install, TESTED_WITH } from './install.js'
import { step } from './step.js'

const isFast = process.argv.includes('--fast')
await install(isFast ? ['.'] : ['.', 'build/lint', ...TESTED_WITH])
step('format and lint', ['biome', 'ci', '--error-on-warnings', '--colors=off', '.'])
step('words', ['node', 'build/words.js'])
step('types', ['tsc', '--noEmit', '-p', isFast ? '.' : 'test'])
step('types in browsers', ['tsc', '--noEmit', '-p', isFast ? 'sdk/element' : 'test/browser'])
if (isFast) process.exit(0)
step('lint with types', ['oxlint', 'console', 'src', 'sdk', 'components', 'test', 'bench', 'build'])
step('types of the console', ['tsc', '--noEmit', '-p', 'console'])
step('types of the wallet in the console', ['tsc', '--noEmit', '-p', 'console/wallet'])
step('unused files, exports and packages', ['knip'])
step('build', ['node', 'build/bundle.js'])
step('generated documents are current', ['node', 'build/run.js', 'build/docs.ts', '--check'])
if (process.argv.includes('--no-tests')) process.exit(0)
process.env.VOUCHSAFE_TEST_ALL = 'yes'
step('tests', ['node', 'node_modules/vitest/vitest.mjs', 'run'])
step('tests with others', ['node', 'node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.others.config.js'])
