/** The size of the element as pages load it, and what it has of other code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'

const BUNDLE = join(import.meta.dirname, '../../dist/sdk/element.js')

it('takes less than 12 kB compressed, with its texts', () => {
  expect(gzipSync(readFileSync(BUNDLE)).length).toBeLessThan(12_000)
})

it('neither evaluates texts as code or HTML nor loads other files', () => {
  const text = readFileSync(BUNDLE, 'utf8')
  expect(text).not.toMatch(/\beval\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|\.cssText|\bimport\b/)
})

it('can be imported where there is no page, and does nothing there', async () => {
  const { VouchsafeRequest } = (await import(BUNDLE)) as { VouchsafeRequest: unknown }
  expect(VouchsafeRequest).toBeTypeOf('function')
})
