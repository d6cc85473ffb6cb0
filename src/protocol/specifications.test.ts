import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { SD_JWT_VC, TOKEN_STATUS_LIST } from './specifications.ts'

const ROOT = join(import.meta.dirname, '../..')
/** `npm run docs` makes this page from the constants. */
const GENERATED = 'docs/checks.md'

it('revisions of drafts that will be RFCs stand in one file', () => {
  const files = ['src', 'sdk', 'test', 'docs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  )
  const read = files.filter((path) => /\.(ts|md)$/.test(path) && !/node_modules|\/dist\/|^docs\/site\//.test(path))
  const revision = /(sd-jwt-vc|status-list)-\d\d\b|(SD-JWT VC|Status List)[ (]+draft-\d/
  const naming = read.filter((path) => revision.test(readFileSync(join(ROOT, path), 'utf8')))
  expect(naming.filter((path) => path !== GENERATED)).toEqual(['src/protocol/specifications.ts'])
  for (const citation of [SD_JWT_VC, TOKEN_STATUS_LIST]) {
    expect(readFileSync(join(ROOT, GENERATED), 'utf8')).toContain(citation)
  }
})
