/** Every row is shown by tests that exist and run, or says why Vouchsafe does not offer what the row asks for. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { conformance } from './index.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const rows = conformance.flatMap((section) => section.rows)
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

describe('what others ask of us', () => {
  it('stands in the file that its section names', () => {
    for (const { file, heading } of conformance)
      expect([heading, textOf(file).includes(heading)]).toEqual([heading, true])
  })

  it('is all there, each once', () => {
    const ids = rows.map(({ id }) => id)
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
    const numbered = (prefix: string, last: number) =>
      Array.from({ length: last }, (_, at) => `${prefix}-${at + 1}`).filter(
        (id) => !ids.some((each) => each.replace(/[a-z]$/, '') === id),
      )
    const security = [...numbered('security', 24), ...numbered('peers', 22)]
    const given = [...numbered('issuance', 64), ...numbered('verification', 43), ...numbered('engine', 25)]
    expect([...security, ...given]).toEqual([])
  })

  it.each(rows)('$id: $asks', ({ tests, notOffered, source }) => {
    expect(source).toMatch(/\w/)
    // A row has either tests or a reason: never neither, never both.
    expect((tests ?? []).length > 0).toBe(notOffered === undefined)
    for (const [file, title] of tests ?? []) {
      const quoted = [`'${title}'`, `\`${title}\``, `"${title}"`]
      expect([file, title, quoted.some((each) => textOf(file).includes(each))]).toEqual([file, title, true])
    }
  })

  it('is shown by tests of which none is skipped', () => {
    const files = [...new Set(rows.flatMap(({ tests = [] }) => tests.map(([file]) => file)))]
    const skipping = /\b(it|test|describe)(\.\w+)*\.(skip|todo|only|fails|skipIf|runIf)\b|\bx(it|describe)\(/
    expect(files.filter((file) => skipping.test(textOf(file)))).toEqual([])
  })

  it('is played by a test for each module of the suite, and no other', () => {
    const played = rows.flatMap(({ id, tests = [] }) =>
      tests.filter(([file, title]) => title === id && file.includes('/oidf-')),
    )
    const titles = (file: string) =>
      [...textOf(file).matchAll(/it\('((?:oid4v|fapi2-)[^']+)'/g)].map(([, title]) => title)
    const driven = ['issuer', 'issuer-haip', 'issuer-fapi', 'verifier'].flatMap((side) =>
      titles(`test/e2e/oidf-${side}.test.ts`),
    )
    expect(driven.sort()).toEqual(played.map(([, title]) => title).sort())
  })
})
