// Makes what the package is packed from, where nothing but Node may be installed: the bundles, and the types of what
// authors of components import. The types are not part of every build, since they take the compiler.
import './node-version.cjs'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { install } from './install.js'
import { step } from './step.js'

await install(['.', 'build/sbom'])
step('bundles', ['node', 'build/bundle.js'])
// The types of a source that is there no more would be packed as well.
rmSync(join(import.meta.dirname, '../dist/sdk/types'), { recursive: true, force: true })
step('types of the SDK', ['tsc', '-p', 'sdk'])
step('types of the element', ['tsc', '-p', 'sdk/element/tsconfig.pack.json'])
step('bill of materials', ['node', 'build/sbom.js'])
