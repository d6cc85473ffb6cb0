/** Everything in docs/conformance.md, in its order. */
import { issuance } from './issuance.ts'
import { peers } from './peers.ts'
import { everywhere, presentation } from './presentation.ts'
import type { Section } from './row.ts'
import { issuerModules, verifierModules } from './suite.ts'

export const conformance: readonly Section[] = [
  issuerModules,
  verifierModules,
  issuance,
  presentation,
  everywhere,
  peers,
]
