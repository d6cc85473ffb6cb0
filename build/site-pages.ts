/**
 * The pages of the documentation as a site: the Markdown of docs/ and of the root, and a page for each file of code
 * that one of them links to, so that every link leads somewhere without the repository.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, extname, join, posix } from 'node:path'

export interface Site {
  /** The Markdown of each page, by its path in the site. */
  readonly pages: ReadonlyMap<string, string>
  /** The pictures, by their path in the site, each with its path in the repository. */
  readonly pictures: ReadonlyMap<string, string>
  readonly sidebar: readonly SidebarGroup[]
}

interface SidebarGroup {
  readonly text: string
  readonly items: readonly { readonly text: string; readonly link: string }[]
}

/** The page from which a reader finds all others; its headings and links are the sidebar. */
const INDEX = 'docs/README.md'
const PICTURE = /\.(png|svg|jpg)$/
const LANGUAGES: Readonly<Record<string, string>> = { '.cjs': 'js', '.sol': 'solidity', '.jsonl': 'json' }

/** Makes the pages of the site from the files below `root`. With `isCodePlain`, pages of code have no colours. */
export function sitePages(root: string, isCodePlain: boolean): Site {
  const pages = new Map<string, string>()
  const pictures = new Map<string, string>()
  const waiting = documentsOf(root)
  for (let source = waiting.shift(); source !== undefined; source = waiting.shift()) {
    const place = sitePath(source)
    if (pages.has(place)) continue
    const isDocument = source.endsWith('.md')
    const text = isDocument ? readFileSync(join(root, source), 'utf8') : codePage(root, source, isCodePlain)
    const movedText = mapLinks(text, (target) => {
      if (/^[a-z-]+:/.test(target) || target === '') return target
      const file = posix.normalize(isDocument ? posix.join(posix.dirname(source), target) : target).replace(/\/$/, '')
      if (!existsSync(join(root, file))) throw new Error(`${source} links to ${target}, which does not exist`)
      if (PICTURE.test(file)) pictures.set(sitePath(file), file)
      else waiting.push(file)
      return relativeLink(place, sitePath(file))
    })
    pages.set(place, isDocument ? movedText : `---\neditLink: false\n---\n\n${movedText}`)
  }
  return { pages, pictures, sidebar: addOtherPages(sidebarOf(readFileSync(join(root, INDEX), 'utf8')), pages) }
}

/** Lists the Markdown files that belong to the site even where nothing links to them. */
function documentsOf(root: string): string[] {
  const below = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !path.startsWith('site'))
    .map((path) => `docs/${path.replaceAll('\\', '/')}`)
  return [...below, ...readdirSync(root).filter((name) => name.endsWith('.md'))].sort()
}

/** Returns the path in the site of a file of the repository. */
export function sitePath(file: string): string {
  if (file === INDEX) return 'index.md'
  if (PICTURE.test(file)) return file.replace(/^docs\//, '')
  if (!file.endsWith('.md')) return `code/${file}.md`
  return file.startsWith('docs/') ? file.slice('docs/'.length) : `project/${file.toLowerCase()}`
}

function relativeLink(from: string, to: string): string {
  const link = posix.relative(posix.dirname(from), to)
  return link.startsWith('.') ? link : `./${link}`
}

/** Writes a page that shows a file of code, or lists the files of a folder. Links in it are paths of the repository. */
function codePage(root: string, file: string, isPlain: boolean): string {
  const path = join(root, file)
  if (statSync(path).isDirectory()) {
    const names = readdirSync(path).filter((name) => !name.includes('.test.') && statSync(join(path, name)).isFile())
    return `# ${file}/\n\n${names.map((name) => `- [${name}](${file}/${name})`).join('\n')}\n`
  }
  const text = readFileSync(path, 'utf8')
  const language = isPlain ? 'txt' : (LANGUAGES[extname(file)] ?? extname(file).slice(1))
  return `# ${posix.basename(file)}\n\n\`${file}\`\n\n\`\`\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\`\`\n`
}

/** Replaces each target of a link in the text, outside of code. */
function mapLinks(text: string, map: (target: string) => string): string {
  const replaceLinks = (prose: string): string =>
    prose.replace(/\]\(([^)#\s]*)(#[^)\s]*)?\)/g, (_, target: string, anchor = '') => `](${map(target)}${anchor})`)
  return text
    .split(/^(`{3,}[^\n]*\n[\s\S]*?^`{3,}$)/m)
    .map((part, index) => (index % 2 === 0 ? replaceLinks(part) : part))
    .join('')
}

/** Documents that another page lists, or that are a page of a folder. */
const LISTED_PATHS = /^(code|project|decisions|divergences|components)\/|^(index|conformance)\.md$/

/** Adds to the sidebar a last group, of the documents that the index does not have. */
function addOtherPages(sidebar: readonly SidebarGroup[], pages: ReadonlyMap<string, string>): readonly SidebarGroup[] {
  const linkedPages = new Set(sidebar.flatMap(({ items }) => items.map(({ link }) => link)))
  const items = [...pages].flatMap(([path, text]) => {
    const link = `/${path.replace(/\.md$/, '')}`
    if (LISTED_PATHS.test(path) || linkedPages.has(link)) return []
    return [{ text: /^# (.+)$/m.exec(text)?.[1] ?? path, link }]
  })
  return items.length === 0 ? sidebar : [...sidebar, { text: 'More', items }]
}

/** Makes the sidebar: a group for each heading of the index, with the pages that it links to. */
function sidebarOf(index: string): SidebarGroup[] {
  const [, ...sections] = index.split(/^## /m)
  return sections.map((section) => {
    const [heading = ''] = section.split('\n')
    const links = [...section.matchAll(/^(?:\| |- )\[([^\]]+)\]\(([^)#]+)\)/gm)]
    return {
      text: heading,
      items: links.map(([, text = '', target = '']) => ({
        text,
        link: `/${sitePath(posix.normalize(posix.join(dirname(INDEX), target)).replace(/\/$/, '')).replace(/\.md$/, '')}`,
      })),
    }
  })
}
