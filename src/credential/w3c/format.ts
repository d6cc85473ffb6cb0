/** The members of a credential format that all W3C formats share. */
import { DIGEST_MEMBERS } from '../../codec/sd-jwt.ts'
import { subjectPositionText } from '../evidence.ts'
import { bindingMethods, type CredentialFormat } from '../format.ts'
import { matchesTypeValues, typeValuesOf, WRITTEN_MEMBERS } from './members.ts'
import { findW3cQueryMistakes, refuseInvalidW3cDataset, type W3cMembers } from './validation.ts'

export const w3cFormat = {
  typeMember: 'credential_definition',
  ownConfigurationMembers: [],
  datasetMembers: 'credentialSubject',
  datasetRule: 'W3C formats take credentialSubject',
  refuseInvalidDataset: refuseInvalidW3cDataset,
  claimsOf: (dataset) => dataset,
  metaMember: 'type_values',
  typeClaim: 'type',
  reservedNames: DIGEST_MEMBERS,
  findOwnQueryMistakes: findW3cQueryMistakes,
  metaOf: typeValuesOf,
  matchesMeta: matchesTypeValues,
  signingAlgorithm: (alg) => alg,
  bindingMethods,
  requiresEncryptedResponse: false,
  statusListType: 'jwt',
  isInHaip: false,
  signatureCoversRequest: false,
  descriptiveMembers: WRITTEN_MEMBERS,
  positionText: subjectPositionText,
} as const satisfies Partial<CredentialFormat<W3cMembers>>
