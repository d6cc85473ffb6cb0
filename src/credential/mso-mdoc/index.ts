/**
 * The format `mso_mdoc`. ISO/IEC 18013-5; OpenID4VCI 1.0, appendix ISO mdoc; OpenID4VP 1.0, Mobile Documents or mdocs.
 */
import { isObject, type JsonObject, stringMemberOf } from '../../codec/json.ts'
import type { ClaimPosition } from '../../codec/sd-jwt.ts'
import { algorithms, coseAlgorithms } from '../../keys/signature.ts'
import { pathText } from '../../protocol/claim-path-text.ts'
import { bindingMethods, type CredentialFormat } from '../format.ts'
import { issue } from './issue.ts'
import { matchesOrder, present, readHeld } from './present.ts'
import { IDS, read } from './read.ts'
import {
  findOwnQueryMistakes,
  type MdocMembers,
  matchesMeta,
  parseMembers,
  refuseInvalidDataset,
} from './validation.ts'

const COVERED_BY_SIGNATURE =
  'the signature of the device is over the nonce, and whom and where the response is for: see holder.signature'

export const msoMdoc: CredentialFormat = {
  ids: IDS,
  typeMember: 'doctype',
  ownConfigurationMembers: [],
  parseMembers,
  datasetMembers: 'namespaces',
  datasetRule: 'mso_mdoc objects with a dot in their name',
  sourceOf: () => 'dataset',
  refuseInvalidDataset,
  claimsOf: (dataset) => dataset,
  metaMember: 'doctype_value',
  typeClaim: undefined,
  // An mdoc has its digests outside of its elements, so elements may have any name.
  reservedNames: [],
  findOwnQueryMistakes,
  metaOf: (configuration) => ({ doctype_value: stringMemberOf(configuration, 'doctype') ?? '' }),
  matchesMeta,
  issue,
  matchesOrder,
  readHeld,
  present,
  read,
  signingAlgorithm: (alg) => algorithms[alg].cose[0],
  bindingMethods: ['cose_key', ...bindingMethods],
  presentationAlgorithms: { issuerauth_alg_values: [...coseAlgorithms], deviceauth_alg_values: [...coseAlgorithms] },
  requiresEncryptedResponse: true,
  statusListType: 'cwt',
  isInHaip: true,
  signatureCoversRequest: true,
  transactionProblem:
    'an mdoc approves a transaction by elements that the device signs, which this release does not ask for',
  notApplicableReasons: {
    'issuer.identifier': 'an mdoc names its issuer by its certificate only',
    'holder.nonce': COVERED_BY_SIGNATURE,
    'holder.audience': COVERED_BY_SIGNATURE,
    'holder.fresh': COVERED_BY_SIGNATURE,
    'holder.sd_hash': 'the device signs the session and not the choice of elements; the issuer signed each of them',
  },
  descriptiveMembers: [],
  positionText,
} satisfies CredentialFormat<MdocMembers>

/** Returns the element identifier, with its namespace if several namespaces have this element. */
function positionText([nameSpace, ...rest]: ClaimPosition, claims: JsonObject): string {
  const [element = ''] = rest
  const holders = Object.values(claims).filter((elements) => isObject(elements) && Object.hasOwn(elements, element))
  return holders.length > 1 ? `${pathText(rest)} (${String(nameSpace)})` : pathText(rest)
}
