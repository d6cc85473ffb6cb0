/**
 * Copies a database, and ends at once at the first rows of a table: `node build/run.js test/support/cut-off-copy.ts
 * FROM TO TABLE`.
 */
import { copyDatabase } from '../../src/bin/db/copy.ts'

const [from = '', to = '', at] = process.argv.slice(2)
await copyDatabase({ from, to }, (table) => {
  if (table === at) process.exit(9)
})
