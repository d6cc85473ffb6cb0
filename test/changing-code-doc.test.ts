/**
 * docs/adding-a-format.md and docs/changing-the-code.md are held to the code: their names are there, and no member of a
 * format is left out.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { formatOf, supportedFormats } from '../src/credential/formats.ts'
import { FORMAT_IDS, FORMATS_IN_WORDS } from '../src/protocol/credential-configuration.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8')
const quotedIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
const namesIn = (text: string): string[] => quotedIn(text).filter((name) => /^\w+$/.test(name))
const page = read('docs/adding-a-format.md')
const paths = quotedIn(page).filter((name) => name.includes('/'))
const names = namesIn(page)

const source = ['src', 'test'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(
      (path) => path.endsWith('.ts') && !path.includes('node_modules') && !path.endsWith('changing-code-doc.test.ts'),
    )
    .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(join(ROOT, folder, path), 'utf8') })),
)
const format = source.find(({ path }) => path === 'src/credential/format.ts')?.text ?? ''
const membersIn = (text: string): string[] =>
  [...text.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, name = '']) => name)
/** The interface `CredentialFormat`, as it stands in its file. */
const interfaceText = format.split('export interface CredentialFormat')[1] ?? ''
const members = membersIn(interfaceText)

it.each(['docs/adding-a-format.md', 'docs/changing-the-code.md'])('%s names what the code has', (path) => {
  const pageNames = namesIn(read(path))
  expect(pageNames.length).toBeGreaterThan(30)
  const missing = pageNames.filter((name) => !source.some(({ text }) => new RegExp(`\\b${name}\\b`).test(text)))
  expect(missing).toEqual([])
})

describe('docs/adding-a-format.md', () => {
  it('names paths that are there', () => {
    expect(paths).toContain('src/credential/')
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  it('names every member of a format', () => {
    expect(members.length).toBeGreaterThan(20)
    expect(members.filter((member) => !names.includes(member))).toEqual([])
  })

  it('has the members in the groups of the interface, and in its order', () => {
    const [, list = ''] = /says what each member owes:\n([\s\S]*?)\n\n/.exec(page) ?? []
    const groupsOfPage = list.split(/^ *- /m).slice(1)
    const [, ...groups] = interfaceText.split(/^ {2}\/\/ /m)
    expect(groups.length).toBeGreaterThan(3)
    expect(
      groupsOfPage.map((text) => [text.split(':')[0], ...namesIn(text).filter((name) => members.includes(name))]),
    ).toEqual(
      groups.map((text) => {
        const [title = ''] = text.split('.\n')
        return [title.charAt(0).toLowerCase() + title.slice(1), ...membersIn(text)]
      }),
    )
  })

  it('names the tests to which a format adds, and each is there', () => {
    const tests = paths.filter((path) => path.endsWith('.test.ts'))
    expect(tests.filter((path) => path.startsWith('test/')).length).toBeGreaterThanOrEqual(4)
  })

  it('has every format in the one list of identifiers of the protocols', () => {
    expect([...FORMAT_IDS].sort()).toEqual([...supportedFormats].sort())
    expect(FORMATS_IN_WORDS).toBe('jwt_vc_json-ld, vc+sd-jwt, dc+sd-jwt, jwt_vc_json or mso_mdoc')
  })

  it('is right that no file outside of a folder but the list of identifiers has the name of a format', () => {
    const quoted = supportedFormats.map((id) => `'${id.replaceAll('+', '\\+')}'`)
    // An example of a document is `format: '…'`.
    const asks = new RegExp(`(?<!format: )(?:${quoted.join('|')})`)
    const folders = /^src\/credential\/[^/]+\//
    const found = source.filter(({ path, text }) => {
      return path.startsWith('src/') && !/\.(test|contract)\.ts$/.test(path) && !folders.test(path) && asks.test(text)
    })
    expect(found.map(({ path }) => path)).toEqual(['src/protocol/credential-configuration.ts'])
    expect(supportedFormats.every((id) => formatOf(id) !== undefined)).toBe(true)
  })
})
