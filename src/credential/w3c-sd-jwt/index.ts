/**
 * W3C Verifiable Credentials secured as SD-JWT: `jwt_vc_json-ld`, and its twin `vc+sd-jwt`.
 * VC-JOSE-COSE, Securing JSON-LD Verifiable Credentials with SD-JWT; why SD-JWT: docs/divergences.md.
 */
import { joseAlgorithms } from '../../keys/algorithm.ts'
import type { CredentialFormat } from '../format.ts'
import { matchesTypeValues, typeValuesOf } from '../w3c-types.ts'
import { issue } from './issue.ts'
import { fulfils, hold, present } from './present.ts'
import { IDS, read } from './read.ts'
import { checkConfiguration, checkDataset, queryMistakes } from './schema.ts'

export const w3cSdJwt: CredentialFormat = {
  ids: IDS,
  presentationAlgorithms: { 'sd-jwt_alg_values': [...joseAlgorithms], 'kb-jwt_alg_values': [...joseAlgorithms] },
  unasked: {},
  signingAlgorithm: (alg) => alg,
  checkConfiguration,
  checkDataset,
  claimsOf: (dataset) => dataset,
  queryMistakes,
  metaOf: typeValuesOf,
  matchesMeta: matchesTypeValues,
  issue,
  fulfils,
  hold,
  present,
  read,
}
