/** The members of a credential format that all W3C formats share. */
import { DIGEST_MEMBERS } from '../../codec/sd-jwt.ts'
import { subjectPositionText } from '../evidence.ts'
import { bindingMethods, type CredentialFormat } from '../format.ts'
import { matchesTypeValues, typeValuesOf, WRITTEN_MEMBERS } from './members.ts'
import { findW3cQueryMistakes, refuseInvalidW3cDataset, type W3cMembers } from './schema.ts'

export const w3cFormat = {
  typeMember: 'credential_definition',
  ownConfigurationMembers: [],
  typeClaim: 'type',
  metaMember: 'type_values',
  reservedNames: DIGEST_MEMBERS,
  descriptiveMembers: WRITTEN_MEMBERS,
  requiresEncryptedResponse: false,
  statusListType: 'jwt',
  signatureCoversRequest: false,
  isInHaip: false,
  signingAlgorithm: (alg) => alg,
  bindingMethods,
  datasetMembers: 'credentialSubject',
  datasetRule: 'W3C formats take credentialSubject',
  refuseInvalidDataset: refuseInvalidW3cDataset,
  claimsOf: (dataset) => dataset,
  findOwnQueryMistakes: findW3cQueryMistakes,
  metaOf: typeValuesOf,
  matchesMeta: matchesTypeValues,
  positionText: subjectPositionText,
} as const satisfies Partial<CredentialFormat<W3cMembers>>
