/**
 * W3C Verifiable Credentials secured as SD-JWT: `jwt_vc_json-ld`, and its twin `vc+sd-jwt`.
 * VC-JOSE-COSE, Securing JSON-LD Verifiable Credentials with SD-JWT; why SD-JWT: docs/divergences.md.
 */
import type { CredentialFormat } from '../format.ts'
import { issue } from './issue.ts'
import { fulfils, hold, present } from './present.ts'
import { IDS, read } from './read.ts'
import { checkConfiguration, checkDataset, metaMistakes } from './schema.ts'

export const w3cSdJwt: CredentialFormat = {
  ids: IDS,
  presentationAlgorithms: { 'sd-jwt_alg_values': ['ES256'], 'kb-jwt_alg_values': ['ES256'] },
  checkConfiguration,
  checkDataset,
  metaMistakes,
  issue,
  fulfils,
  hold,
  present,
  read,
}
