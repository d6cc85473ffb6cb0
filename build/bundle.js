// `npm run build`: makes dist/ anew.
import './node-version.cjs'
import { refuseReadOnly } from './install.js'

refuseReadOnly()
await import('./bundles.js').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes("'esbuild'")) throw error
  process.stderr.write(
    'esbuild, which makes dist/, is not installed: run npm ci (without --omit=dev), then the same command again.\n',
  )
  process.exit(1)
})
