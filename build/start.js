// `npm start`: installs, builds and runs the demo. Arguments go to it: npm start -- --once
import './node-version.cjs'
import { install } from './install.js'
import { step } from './step.js'

await install(['.'])
process.stderr.write('Building ...\n')
step('build', ['node', 'build/bundle.js'], { quiet: true })
step('demo', ['node', 'dist/vouchsafe.cjs', 'demo', ...process.argv.slice(2)], { quiet: true })
