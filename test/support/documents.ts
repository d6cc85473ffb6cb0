/** The documents of the repository, and the blocks of code in them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')

/** The paths of the Markdown files at the root, in docs/ and beside the examples and components. */
export const documents: readonly string[] = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...['docs', 'examples', 'components'].flatMap(markdownBelow),
].sort()

/** Returns the Markdown files below a folder, without those of packages, and of the site that a test makes. */
function markdownBelow(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' || path === 'docs/site' ? [] : markdownBelow(path)
    return path.endsWith('.md') ? [path] : []
  })
}

export interface Snippet {
  readonly page: string
  readonly line: number
  readonly language: string
  readonly code: string
}

export function textOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}

/**
 * Returns the fenced blocks of a page, in its order. A block in a list has the code without the indentation of the
 * list.
 */
export function snippetsOf(page: string): Snippet[] {
  const text = textOf(page)
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].map(
    ({ 1: indent = '', 2: language = '', 3: code = '', index }) => ({
      page,
      line: text.slice(0, index).split('\n').length,
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  )
}

/** Returns the one block of a page that has the text. Throws where there is none, or where there are several. */
export function snippetWith(page: string, text: string): string {
  const [snippet, ...more] = snippetsOf(page).filter(({ code }) => code.includes(text))
  if (snippet === undefined || more.length > 0)
    throw new Error(`${page} has ${more.length + 1} blocks with ${text}, not one`)
  return snippet.code
}

/** Returns the anchors of the headings of a page: in small letters, with hyphens for spaces and no punctuation. */
export function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
