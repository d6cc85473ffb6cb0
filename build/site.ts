/** Makes the site for `docs-site.js`, which has installed the packages for it. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { sitePages } from './site-pages.ts'

const root = process.cwd()
const site = join(root, 'docs', 'site')
const outDir = resolve(process.argv[2] ?? join(site, 'dist'))

// The colours of some hundred files of code take half of the time.
const { pages, pictures, sidebar } = sitePages(root, process.env.DOCS_PLAIN_CODE === 'yes')
// VitePress reads its pages from a folder, and the packages of the site must be found from there.
const folder = join(site, 'pages')
rmSync(folder, { recursive: true, force: true })
for (const [path, text] of [...pages, ['sidebar.json', JSON.stringify(sidebar)] as const]) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
for (const [path, file] of pictures) cpSync(join(root, file), join(folder, path))

const vitepress = join(site, 'node_modules', 'vitepress', 'bin', 'vitepress.js')
const { status } = spawnSync(process.execPath, [vitepress, 'build', '--outDir', outDir], {
  cwd: site,
  stdio: 'inherit',
})
if (status === 0) process.stderr.write(`The site is in ${outDir}: any web server of static files serves it.\n`)
process.exitCode = status ?? 1
