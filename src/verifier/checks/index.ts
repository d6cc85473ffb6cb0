/** The checks of the verifier, in the order in which they run. */

import type { Check } from '../../check/check.ts'
import type { EvidenceWithChain, PresentationCheckContext } from './context.ts'
import { credentialChecks } from './credential.ts'
import { holderChecks } from './holder.ts'
import { issuerChecks } from './issuer.ts'
import { formatCheck, queryChecks } from './query.ts'
import { readingChecks, responseChecks } from './response.ts'

export { readingChecks, responseChecks }

/** The checks of each presentation that could be parsed. */
export const evidenceChecks: readonly Check<EvidenceWithChain, PresentationCheckContext>[] = [
  ...issuerChecks,
  ...holderChecks,
  formatCheck,
  ...credentialChecks,
  ...queryChecks,
]

/** All checks, for the documentation and for tests. */
export const allChecks = [...responseChecks, ...readingChecks, ...evidenceChecks]
