/** Tests whether the issuer has revoked or suspended the credential; `src/check/status/` fetches the status lists. */

import type { Check } from '../../check/check.ts'
import { statusVerdict } from '../../check/status/verdict.ts'
import type { Evidence } from '../../credential/format.ts'
import { TOKEN_STATUS_LIST } from '../../protocol/specifications.ts'
import type { PresentationContext } from './presentation.ts'

export const statusCheck: Check<Evidence, PresentationContext> = {
  id: 'status.valid',
  asks: 'Has the issuer neither revoked nor suspended the credential?',
  spec: `${TOKEN_STATUS_LIST}, Validation Rules; Bitstring Status List 1.0, Validate Algorithm`,
  level: 'MUST',
  // A list is fetched for a trusted issuer only.
  needs: ['issuer.trusted'],
  applies: ({ trustAnchors }) =>
    trustAnchors !== undefined || 'no trust anchors are configured, so that no status is fetched',
  run: statusVerdict,
}
