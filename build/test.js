// `npm test`: installs, builds and runs every test. Arguments go to vitest: npm test -- src/codec
import { install } from './install.js'
import { step } from './step.js'

install('test')
step('build', ['node', 'build/bundle.js'])
step(`tests on Node ${process.versions.node}`, [
  'node',
  'node_modules/vitest/vitest.mjs',
  'run',
  ...process.argv.slice(2),
])
