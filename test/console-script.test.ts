/**
 * The weight of the console's scripts, compressed by Brotli as browsers take them. No page loads more than 100 kB at
 * once; the page of the wallet loads what receives, and what presents, when a link is opened
 * (docs/decisions/0014-wallet-in-the-browser.md).
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { beforeAll, expect, it } from 'vitest'
import { buildConsole } from '../build/console.js'

const KB = 1000

let directory: string
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'vouchsafe-console-'))
  await buildConsole(directory)
  return () => rmSync(directory, { recursive: true })
})

/** Returns the files that a script loads with itself, beside those of `loaded`. */
function loadedWith(name: string, loaded: ReadonlySet<string> = new Set()): ReadonlySet<string> {
  if (loaded.has(name)) return loaded
  const imports = [...readScript(name).matchAll(/(?:import|from) ?"\.\/([\w.-]+)"/g)].map(([, file = '']) => file)
  return imports.reduce<ReadonlySet<string>>((all, file) => loadedWith(file, all), new Set([...loaded, name]))
}

function readScript(name: string): string {
  return readFileSync(join(directory, name), 'utf8')
}

const weights = new Map<string, number>()

function weigh(names: ReadonlySet<string>): number {
  for (const name of names) {
    if (!weights.has(name)) weights.set(name, brotliCompressSync(readScript(name)).length)
  }
  return [...names].reduce((sum, name) => sum + (weights.get(name) ?? 0), 0) / KB
}

it('every page of the console loads at most 32 kB of compressed script, and that of the wallet at most 100 kB', () => {
  const ofEveryPage = loadedWith('app.js')
  expect(weigh(ofEveryPage)).toBeGreaterThan(10)
  expect(weigh(ofEveryPage)).toBeLessThan(32)
  const ofWallet = loadedWith('wallet.js', ofEveryPage)
  expect(ofWallet.size).toBeGreaterThan(ofEveryPage.size)
  expect(weigh(ofWallet)).toBeLessThan(100)
})

it.each(['offer', 'request'])('a link of the wallet loads what %ss need, at most 25 kB more', (kind) => {
  const ofWallet = loadedWith('wallet.js', loadedWith('app.js'))
  const [, later] = new RegExp(`import\\("\\./(${kind}-view-\\w+\\.js)"\\)`).exec(readScript('wallet.js')) ?? []
  if (later === undefined) throw new Error(`the wallet loads no ${kind}-view`)
  const opened = loadedWith(later, ofWallet)
  expect(weigh(opened) - weigh(ofWallet)).toBeGreaterThan(5)
  expect(weigh(opened) - weigh(ofWallet)).toBeLessThan(25)
})
