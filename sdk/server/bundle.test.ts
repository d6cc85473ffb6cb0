/** Tests that an application bundles of `vouchsafe/server` only what it uses, and nothing of Node. */
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const DIRECTORY = import.meta.dirname

/** Bundles a program with what is in the package, as for a runtime that has Web APIs alone. */
async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: join(DIRECTORY, '..', '..') },
    ...{ bundle: true, write: false, format: 'esm', platform: 'neutral', minify: true, logLevel: 'silent' },
  })
  return outputFiles[0]?.text ?? ''
}

it.each([
  ['readCallback', 2500, /issuance\/oid4vci|presentation\/oid4vp/],
  ['createIssuerClient', 4900, /presentation\/oid4vp|webhook-signature/],
  ['createVerifierClient', 4900, /issuance\/oid4vci|webhook-signature/],
])('%s alone is small, and brings nothing of the others', async (name, bytes, others) => {
  const text = await bundle(`import { ${name} } from './dist/sdk/server.js'\nglobalThis.use(${name})`)
  expect(text).not.toMatch(others)
  expect(text).not.toMatch(/node:/)
  expect(gzipSync(text).length).toBeLessThan(bytes)
})

it('a program that uses nothing has no function of it', async () => {
  const text = await bundle("import './dist/sdk/server.js'")
  expect(text).not.toMatch(/function|=>|class/)
  expect(text.length).toBeLessThan(200)
})
