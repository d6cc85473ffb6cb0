// How VitePress makes the site: its pages and its sidebar come from build/site-pages.ts.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'

const pages = join(import.meta.dirname, '..', 'pages')

/** The anchor of a heading as the repository has it: test/docs.test.ts holds the links in the pages to the same rule. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Says whether a page, by its path below srcDir, shows a file of code. */
const isCodePage = (path) => path.startsWith('code/')

/** Renders a page without the colours of its code, which a search does not have. */
function renderForSearch(text, env, markdown) {
  const { highlight } = markdown.options
  markdown.options.highlight = (code) => markdown.utils.escapeHtml(code)
  try {
    return markdown.render(text, env)
  } finally {
    markdown.options.highlight = highlight
  }
}

export default defineConfig({
  title: 'Vouchsafe',
  description: 'Issue and verify digital credentials, and run off-chain components of smart contracts',
  srcDir: 'pages',
  // Below which address the site is served, such as /vouchsafe/.
  base: process.env.DOCS_BASE ?? '/',
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  themeConfig: {
    sidebar: JSON.parse(readFileSync(join(pages, 'sidebar.json'), 'utf8')),
    outline: [2, 3],
    externalLinkIcon: true,
    notFound: {
      title: 'There is no such page',
      quote: 'It may have another name now: search for what you were looking for, or begin at the list of all pages.',
      linkText: 'All pages',
      linkLabel: 'All pages',
    },
    search: {
      provider: 'local',
      options: {
        // What tells how to do something comes before reasons and history, and the very word before words like it.
        miniSearch: {
          searchOptions: {
            fuzzy: (term) => (term.length > 5 ? 0.1 : false),
            weights: { fuzzy: 0.1, prefix: 0.3 },
            boostDocument: (id) => (/\/(decisions|divergences|project)\//.test(id) ? 0.4 : 1),
          },
        },
        // Pages of code would hide those that explain it, and take long to render.
        _render: (text, env, markdown) => (isCodePage(env.relativePath) ? '' : renderForSearch(text, env, markdown)),
      },
    },
  },
})
