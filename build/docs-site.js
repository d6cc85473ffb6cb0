// `npm run docs:site`: makes a site of static pages with search from docs/, in docs/site/dist or the folder that
// follows.
import './node-version.cjs'
import { install } from './install.js'
import { step } from './step.js'

await install(['.', 'docs/site'])
step('site', ['node', 'build/run.js', 'build/site.ts', ...process.argv.slice(2)])
