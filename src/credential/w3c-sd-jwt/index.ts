/**
 * The formats `jwt_vc_json-ld` and `vc+sd-jwt`: W3C Verifiable Credentials secured as SD-JWT. VC-JOSE-COSE, Securing
 * JSON-LD Verifiable Credentials with SD-JWT. docs/divergences/credential-formats.md says why SD-JWT.
 */
import { DIGEST_MEMBERS } from '../../codec/sd-jwt.ts'
import { subjectPositionText } from '../evidence-readers.ts'
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
  // Wallets that know `jwt_vc_json-ld` from OpenID4VCI expect `alg_values`, as in the other JWT formats.
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
