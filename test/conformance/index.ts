/** The sections that docs/conformance.md sums up, in its order. */
import { engineInterface } from './interface-engine.ts'
import { issuanceInterface } from './interface-issuance.ts'
import { verificationInterface } from './interface-verification.ts'
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
  issuanceInterface,
  verificationInterface,
  engineInterface,
]
