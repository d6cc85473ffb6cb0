/**
 * W3C Verifiable Credentials secured as SD-JWT: `jwt_vc_json-ld`, and its twin `vc+sd-jwt`. VC-JOSE-COSE, Securing
 * JSON-LD Verifiable Credentials with SD-JWT; why SD-JWT: docs/divergences/credential-formats.md.
 */
import { DIGEST_MEMBERS } from '../../codec/sd-jwt.ts'
import { subjectPositionText } from '../evidence.ts'
import { bindingMethods, type CredentialFormat } from '../format.ts'
import { presentSdJwt, sdJwtAlgorithms } from '../sd-jwt.ts'
import { checkW3cDataset, findW3cQueryMistakes, type W3cMembers } from '../w3c/schema.ts'
import { matchesTypeValues, typeValuesOf } from '../w3c/types.ts'
import { fulfils, hold, IDS, issue, read } from './credential.ts'
import { parseMembers } from './schema.ts'

export const w3cSdJwt: CredentialFormat = {
  ids: IDS,
  typeMember: 'credential_definition',
  ownConfigurationMembers: [],
  typeClaim: 'type',
  metaMember: 'type_values',
  reservedNames: DIGEST_MEMBERS,
  requiresEncryptedResponse: false,
  statusListType: 'jwt',
  // A wallet that knows the name of the format from VCI looks for the member that the other JWT formats have.
  presentationAlgorithms: { alg_values: sdJwtAlgorithms['sd-jwt_alg_values'], ...sdJwtAlgorithms },
  isInHaip: false,
  unasked: { 'credential.doc_type': 'only an mdoc states its type twice' },
  signingAlgorithm: (alg) => alg,
  bindingMethods,
  parseMembers,
  datasetMembers: 'credentialSubject',
  datasetRule: 'W3C formats take credentialSubject',
  checkDataset: checkW3cDataset,
  claimsOf: (dataset) => dataset,
  findOwnQueryMistakes: findW3cQueryMistakes,
  metaOf: typeValuesOf,
  matchesMeta: matchesTypeValues,
  issue,
  fulfils,
  hold,
  present: presentSdJwt,
  positionText: subjectPositionText,
  read,
} satisfies CredentialFormat<W3cMembers>
