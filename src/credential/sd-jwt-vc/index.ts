/** The format `dc+sd-jwt` (SD-JWT VC). SD-JWT VC; OpenID4VCI 1.0 and OpenID4VP 1.0, IETF SD-JWT VC. */
import { type JsonObject, stringMemberOf } from '../../codec/json.ts'
import { DIGEST_MEMBERS } from '../../codec/sd-jwt.ts'
import type { Signer } from '../../keys/signer.ts'
import { selectClaims } from '../../protocol/claim-path.ts'
import type { ClaimPath } from '../../protocol/claim-path-text.ts'
import { statusMember, subjectPositionText } from '../evidence.ts'
import { bindingMethods, type ClaimSource, type Configuration, type CredentialFormat, type Order } from '../format.ts'
import { issueSdJwt, presentSdJwt, sdJwtAlgorithms } from '../sd-jwt.ts'
import { IDS, matchesMeta, matchesOrder, read, readHeld } from './read.ts'
import { refuseMissingTypeClaims } from './type-claims.ts'
import {
  claimsOf,
  findOwnQueryMistakes,
  parseMembers,
  refuseInvalidDataset,
  type SdJwtVcMembers,
  SECURING_MEMBERS,
} from './validation.ts'

export const sdJwtVc: CredentialFormat = {
  ids: IDS,
  olderId: 'vc+sd-jwt',
  typeMember: 'vct',
  ownConfigurationMembers: ['aka_vcts', 'type_metadata'],
  parseMembers,
  datasetMembers: 'claims',
  datasetRule: 'dc+sd-jwt the other members',
  sourceOf,
  refuseInvalidDataset: refuseUnfitDataset,
  claimsOf,
  metaMember: 'vct_values',
  typeClaim: 'vct',
  reservedNames: DIGEST_MEMBERS,
  findOwnQueryMistakes,
  metaOf,
  matchesMeta,
  issue,
  matchesOrder,
  readHeld,
  present: presentSdJwt,
  read,
  signingAlgorithm: (alg) => alg,
  bindingMethods,
  presentationAlgorithms: sdJwtAlgorithms,
  requiresEncryptedResponse: false,
  statusListType: 'jwt',
  isInHaip: true,
  signatureCoversRequest: false,
  notApplicableReasons: { 'credential.doc_type': 'only an mdoc states its type twice' },
  descriptiveMembers: [],
  positionText: subjectPositionText,
} satisfies CredentialFormat<SdJwtVcMembers>

function refuseUnfitDataset(dataset: JsonObject, { posted }: Configuration): void {
  refuseInvalidDataset(dataset)
  refuseMissingTypeClaims(claimsOf(dataset), posted)
}

function metaOf(configuration: JsonObject): JsonObject {
  const vct = stringMemberOf(configuration, 'vct')
  return vct ? { vct_values: [vct] } : {}
}

/** Issues an SD-JWT VC with the claims of the dataset at the root of its payload. SD-JWT VC, JWT Claims Set. */
function issue(order: Order<SdJwtVcMembers>, signer: Signer, random: (bytes: number) => Uint8Array): Promise<string> {
  const clearMembers = typeMembers(order.configuration)
  const content = { typ: 'dc+sd-jwt', claims: claimsOf(order.dataset), clearMembers, isConcealable: () => true }
  return issueSdJwt(content, order, signer, random)
}

function typeMembers({ vct, akaVcts, typeIntegrity }: SdJwtVcMembers): JsonObject {
  return {
    vct,
    ...(typeIntegrity && { 'vct#integrity': typeIntegrity }),
    ...(akaVcts && { aka_vcts: [...akaVcts] }),
  }
}

/** Returns where a claim comes from. The issuer writes most members that secure the credential. */
function sourceOf(path: ClaimPath, configuration: Configuration<SdJwtVcMembers>): ClaimSource | undefined {
  if (!SECURING_MEMBERS.includes(String(path[0]))) return 'dataset'
  const writtenClaims = {
    ...typeMembers(configuration),
    iss: '',
    iat: 0,
    exp: 0,
    cnf: { jwk: { kty: '', crv: '', x: '' } },
    ...(configuration.isRevocable && statusMember({ status: { index: 0, uri: '' } })),
  }
  return 'problem' in selectClaims(writtenClaims, path) ? undefined : 'issuer'
}
