/**
 * The format `jwt_vc_json`: W3C Verifiable Credentials (VCDM 1.1) as JWTs, presented in a VP-JWT, without selective
 * disclosure. OpenID4VCI 1.0 and OpenID4VP 1.0, VC Signed as a JWT, Not Using JSON-LD.
 */

import { DIGEST_MEMBERS } from '../../codec/sd-jwt.ts'
import { joseAlgorithms } from '../../keys/algorithm.ts'
import { subjectPositionText } from '../evidence-readers.ts'
import { bindingMethods, type CredentialFormat } from '../format.ts'
import { checkW3cDataset, findW3cQueryMistakes, type W3cMembers } from '../w3c/schema.ts'
import { matchesTypeValues, typeValuesOf } from '../w3c/types.ts'
import { fulfils, hold, IDS, read } from './read.ts'
import { issue, parseMembers, present } from './write.ts'

export const w3cJwt: CredentialFormat = {
  ids: IDS,
  typeMember: 'credential_definition',
  ownConfigurationMembers: [],
  typeClaim: 'type',
  metaMember: 'type_values',
  reservedNames: DIGEST_MEMBERS,
  requiresEncryptedResponse: false,
  statusListType: 'jwt',
  presentationAlgorithms: { alg_values: [...joseAlgorithms] },
  isInHaip: false,
  unasked: {
    'credential.doc_type': 'only an mdoc states its type twice',
    'disclosures.valid': 'a plain JWT has no disclosures',
    'holder.transaction_data': 'the specification has no place for an approval in a presentation of this format',
    'holder.sd_hash': 'the holder signs the credential itself, which is inside the presentation',
  },
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
  present,
  positionText: subjectPositionText,
  read,
} satisfies CredentialFormat<W3cMembers>
