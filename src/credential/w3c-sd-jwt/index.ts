/**
 * The formats `jwt_vc_json-ld` and `vc+sd-jwt`: W3C Verifiable Credentials secured as SD-JWT. VC-JOSE-COSE, Securing
 * JSON-LD Verifiable Credentials with SD-JWT. docs/divergences/credential-formats.md says why SD-JWT.
 */
import type { CredentialFormat } from '../format.ts'
import { presentSdJwt, sdJwtAlgorithms } from '../sd-jwt.ts'
import { w3cFormat } from '../w3c/format.ts'
import type { W3cMembers } from '../w3c/validation.ts'
import { IDS, issue, matchesOrder, read, readHeld, sourceOf } from './credential.ts'
import { parseMembers } from './validation.ts'

export const w3cSdJwt: CredentialFormat = {
  ...w3cFormat,
  ids: IDS,
  parseMembers,
  sourceOf,
  issue,
  matchesOrder,
  readHeld,
  present: presentSdJwt,
  read,
  // Wallets that know `jwt_vc_json-ld` from OpenID4VCI expect `alg_values`, as in the other JWT formats.
  presentationAlgorithms: { alg_values: sdJwtAlgorithms['sd-jwt_alg_values'], ...sdJwtAlgorithms },
  notApplicableReasons: { 'credential.doc_type': 'only an mdoc states its type twice' },
} satisfies CredentialFormat<W3cMembers>
