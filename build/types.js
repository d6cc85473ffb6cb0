// The types of what authors of components import, before the package is packed. Not part of every build: it takes the compiler.
import { step } from './step.js'

step('types of the SDK', ['tsc', '-p', 'sdk'])
