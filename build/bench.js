// `npm run bench`: installs, builds, and measures. Arguments go to bench/bench.ts: npm run bench -- engine
import './node-version.cjs'
import { install } from './install.js'
import { step } from './step.js'

const words = process.argv.slice(2)
await install(['.'])
step('build', ['node', 'build/bundle.js'], { quiet: true })
step('bench', ['node', 'build/run.js', 'bench/bench.ts', ...words], { quiet: true })
