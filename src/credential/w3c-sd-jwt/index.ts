/**
 * W3C Verifiable Credentials secured as SD-JWT: `jwt_vc_json-ld`, and its twin `vc+sd-jwt`.
 * VC-JOSE-COSE, Securing JSON-LD Verifiable Credentials with SD-JWT; why SD-JWT: docs/divergences/credential-formats.md.
 */
import { bindingMethods, type CredentialFormat } from '../format.ts'
import { presentSdJwt, sdJwtAlgorithms } from '../sd-jwt/present.ts'
import { checkW3cDataset, w3cQueryMistakes } from '../w3c/schema.ts'
import { matchesTypeValues, typeValuesOf } from '../w3c/types.ts'
import { issue } from './issue.ts'
import { fulfils, hold, IDS, read } from './read.ts'
import { checkConfiguration } from './schema.ts'

export const w3cSdJwt: CredentialFormat = {
  ids: IDS,
  // A wallet that knows the name of the format from VCI looks for the member that the other JWT formats have.
  presentationAlgorithms: { alg_values: sdJwtAlgorithms['sd-jwt_alg_values'], ...sdJwtAlgorithms },
  unasked: { 'credential.doc_type': 'only an mdoc states its type twice' },
  signingAlgorithm: (alg) => alg,
  bindingMethods,
  checkConfiguration,
  datasetMembers: 'credentialSubject',
  checkDataset: checkW3cDataset,
  claimsOf: (dataset) => dataset,
  queryMistakes: w3cQueryMistakes,
  metaOf: typeValuesOf,
  matchesMeta: matchesTypeValues,
  issue,
  fulfils,
  hold,
  present: presentSdJwt,
  read,
}
