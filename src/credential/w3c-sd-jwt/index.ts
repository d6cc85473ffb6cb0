/**
 * W3C Verifiable Credentials secured as SD-JWT: `jwt_vc_json-ld`, and its twin `vc+sd-jwt`.
 * VC-JOSE-COSE, Securing JSON-LD Verifiable Credentials with SD-JWT; why SD-JWT: docs/divergences.md.
 */
import type { CredentialFormat } from '../format.ts'
import { issue } from './issue.ts'
import { hold, present } from './present.ts'
import { IDS, read } from './read.ts'
import { checkConfiguration, checkDataset } from './schema.ts'

export const w3cSdJwt: CredentialFormat = {
  ids: IDS,
  presentationAlgorithms: { 'sd-jwt_alg_values': ['ES256'], 'kb-jwt_alg_values': ['ES256'] },
  checkConfiguration,
  checkDataset,
  issue,
  hold,
  present,
  read,
}
