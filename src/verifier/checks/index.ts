/** Every check there is, in the order in which they are asked. These lists are the verifier. */
import type { Evidence } from '../../credential/format.ts'
import type { Check } from './check.ts'
import { holder } from './holder.ts'
import { issuer } from './issuer.ts'
import { type PresentationContext, presentation } from './presentation.ts'
import { query } from './query.ts'
import { response } from './response.ts'
import { validity } from './validity.ts'

/** Asked once of the whole response. */
export const responseChecks = response

/** Asked of each presentation: whether it can be read. */
export const readingChecks = presentation

/** Asked of each presentation that could be read. */
export const evidenceChecks: readonly Check<Evidence, PresentationContext>[] = [
  ...issuer,
  ...holder,
  ...validity,
  ...query,
].map(unlessUnasked)

/** For documents and tests: each check with its id, question, citation and level. */
export const allChecks = [...responseChecks, ...readingChecks, ...evidenceChecks]

/**
 * A format says which questions make no sense of it: what it has no place for, it cannot get wrong. First comes what nobody
 * asked of any format, so that no reason names another check as the one that was asked instead.
 */
function unlessUnasked(check: Check<Evidence, PresentationContext>): Check<Evidence, PresentationContext> {
  return {
    ...check,
    applies: (context) => {
      const applies = check.applies?.(context) ?? true
      return applies === true ? (context.format.unasked[check.id] ?? true) : applies
    },
  }
}
