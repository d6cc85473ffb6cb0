/**
 * The site of the documents: each link leads to a page and a heading that are there, without a repository beside it.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sitePages, sitePath } from '../build/site-pages.ts'
import { headingsOf, ROOT } from './support/documents.ts'

const { pages, pictures, sidebar } = sitePages(ROOT, false)

/** The text of a page without its blocks of code, in which nothing is a link. */
const proseOf = (path: string): string => (pages.get(path) ?? '').replaceAll(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, '')

describe('a page of the site', () => {
  it.each([...pages.keys()])('links to what is there: %s', (path) => {
    const links = [...proseOf(path).matchAll(/\]\(([^)#\s]*)(?:#([^)\s]*))?\)/g)]
    const missing = links.filter(([, target = '', heading]) => {
      if (/^[a-z-]+:/.test(target)) return false
      const to = target === '' ? path : posix.join(posix.dirname(path), target)
      if (pictures.has(to)) return false
      const text = pages.get(to)
      return text === undefined || (heading !== undefined && !headingsOf(text).includes(heading))
    })
    expect(missing.map(([link]) => link)).toEqual([])
  })

  it('has no text that the generator would take for a tag or an expression', () => {
    const texts = [...pages.keys()].flatMap((path) =>
      proseOf(path)
        .replaceAll(/`[^`]*`/g, '')
        .split('\n')
        .filter((line) => /(?<!\\)<(?!!--|https?:)\/?[a-z]|\{\{/i.test(line))
        .map((line) => `${path}: ${line}`),
    )
    expect(texts).toEqual([])
  })
})

describe('the sidebar', () => {
  const linked = new Set(sidebar.flatMap(({ items }) => items.map(({ link }) => `${link.slice(1)}.md`)))

  it('leads to pages that are there', () => {
    expect(linked.size).toBeGreaterThan(20)
    expect([...linked].filter((path) => !pages.has(path))).toEqual([])
  })

  it('has every document but those that a document of it lists', () => {
    const documents = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md') && !/^(site|decisions|divergences)\//.test(path))
      .map((path) => sitePath(`docs/${path}`))
    // The page about tests is for the repository.
    expect(documents.filter((path) => !linked.has(path) && !['index.md', 'conformance.md'].includes(path))).toEqual([])
  })
})

it('pictures of the site are there', () => {
  expect([...pictures.values()].filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
})
