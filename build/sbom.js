// Writes the bill of materials of the package, `dist/sbom.cdx.json` in CycloneDX: the packages that are in its bundles
// and in its components, each with version and licence. It runs when the package is packed, after the bundles.
import './node-version.cjs'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { BUNDLED, bundle, readMetafile, writeMetafile } from './metafile.js'
import { step } from './step.js'

const root = join(import.meta.dirname, '..')
const components = readdirSync(join(root, 'components'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && readdirSync(join(root, 'components', entry.name)).includes('component.ts'))
  .map(({ name }) => `components/${name}/component.ts`)

readMetafile(BUNDLED)
// The command bundles components; this bundle only tells what goes into them.
await bundle({
  absWorkingDir: root,
  entryPoints: components,
  outdir: 'dist/components',
  bundle: true,
  platform: 'neutral',
  alias: { 'vouchsafe/component': './sdk/component/index.ts' },
  write: false,
  logLevel: 'warning',
})
writeMetafile(BUNDLED)
step('bill of materials', [
  'node',
  'build/sbom/node_modules/@cyclonedx/cyclonedx-esbuild/bin/cyclonedx-esbuild-cli.js',
  ...['--output-reproducible', '--validate', '--output-file', 'dist/sbom.cdx.json', BUNDLED],
])
