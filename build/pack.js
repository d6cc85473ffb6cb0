// Makes what the package is packed from, where nothing but Node may be installed: the bundles, and the types of what
// authors of components import. The types are not part of every build, since they take the compiler.
import './node-version.cjs'
import { install } from './install.js'
import { step } from './step.js'

await install(['.', 'build/sbom'])
step('bundles', ['node', 'build/bundle.js'])
step('types of the SDK', ['tsc', '-p', 'sdk'])
step('types of the element', ['tsc', '-p', 'sdk/element'])
step('bill of materials', ['node', 'build/sbom.js'])
