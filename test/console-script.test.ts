/**
 * The weight of the console's scripts, compressed by Brotli as browsers take them. The limit of what a page loads is 100 kB;
 * the page of the wallet alone is above it, by the reference wallet that it is (docs/decisions/0014-wallet-in-the-browser.md).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { buildConsole } from '../build/console.js'
import { temporaryDirectory } from './support/command.ts'

const KB = 1000

it('every page of the console loads at most 30 kB of compressed script, and that of the wallet at most 90 kB more', async () => {
  const directory = temporaryDirectory()
  await buildConsole(directory)
  const weigh = (name: string): number => brotliCompressSync(readFileSync(join(directory, name))).length / KB
  expect(weigh('app.js')).toBeLessThan(30)
  expect(weigh('wallet.js')).toBeLessThan(90)
})
