/** The checks of the verifier, in the order in which they are asked. */

import type { Check } from '../../check/check.ts'
import type { Evidence } from '../../credential/format.ts'
import type { PresentationCheckContext } from './context.ts'
import { holderChecks } from './holder.ts'
import { issuerChecks } from './issuer.ts'
import { queryChecks } from './query.ts'
import { readingChecks, responseChecks } from './response.ts'
import { validityChecks } from './validity.ts'

export { readingChecks, responseChecks }

/** The checks that are asked of each presentation that could be read. */
export const evidenceChecks: readonly Check<Evidence, PresentationCheckContext>[] = [
  ...issuerChecks,
  ...holderChecks,
  ...validityChecks,
  ...queryChecks,
].map(skipUnasked)

/** All checks, each with its id, question, citation and level, for documents and tests. */
export const allChecks = [...responseChecks, ...readingChecks, ...evidenceChecks]

/**
 * Skips the checks that make no sense for a format. The check's own reason wins over the format's `unasked`, so that
 * the report never refers to a check that was not asked.
 */
function skipUnasked(check: Check<Evidence, PresentationCheckContext>): Check<Evidence, PresentationCheckContext> {
  return {
    ...check,
    skipReason: (context) => check.skipReason?.(context) ?? context.format.unasked[check.id],
  }
}
