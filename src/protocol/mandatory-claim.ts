/** Datasets without a claim that has to be in them. OpenID4VCI 1.0, Claims Description; SD-JWT VC, Claim Metadata. */
import type { JsonObject } from '../codec/json.ts'
import { selectClaims } from './claim-path.ts'
import { type ClaimPath, pathText } from './claim-path-text.ts'
import { refuse } from './error.ts'

/** Refuses with `invalid_request` a dataset without a claim that is mandatory in `document`, or with null for it. */
export function refuseMissingClaim(claims: JsonObject, path: ClaimPath, document: string): void {
  const problem = `${pathText(['credential_dataset', ...path])}: this claim is mandatory in ${document}`
  const selection = selectClaims(claims, path)
  if ('problem' in selection) refuse('invalid_request', problem)
  if (selection.claims.every(({ value }) => value === null))
    refuse('invalid_request', `${problem}, and null says nothing`)
}
