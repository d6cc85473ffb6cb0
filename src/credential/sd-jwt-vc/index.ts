/** SD-JWT VC: `dc+sd-jwt`. SD-JWT VC; OpenID4VCI 1.0 and OpenID4VP 1.0, IETF SD-JWT VC. */
import { type JsonObject, ownString } from '../../codec/json.ts'
import type { Signer } from '../../keys/signer.ts'
import { bindingMethods, type CredentialFormat, type Order } from '../format.ts'
import { issueSdJwt } from '../sd-jwt/issue.ts'
import { presentSdJwt, sdJwtAlgorithms } from '../sd-jwt/present.ts'
import { fulfils, hold, IDS, matchesMeta, read } from './read.ts'
import { checkConfiguration, checkDataset, claimsOf, queryMistakes } from './schema.ts'

export const sdJwtVc: CredentialFormat = {
  ids: IDS,
  presentationAlgorithms: sdJwtAlgorithms,
  unasked: { 'credential.doc_type': 'only an mdoc states its type twice' },
  signingAlgorithm: (alg) => alg,
  bindingMethods,
  checkConfiguration,
  datasetMembers: 'claims',
  checkDataset,
  claimsOf,
  queryMistakes,
  metaOf,
  matchesMeta,
  issue,
  fulfils,
  hold,
  present: presentSdJwt,
  read,
}

function metaOf(configuration: JsonObject): JsonObject {
  const vct = ownString(configuration, 'vct')
  return vct ? { vct_values: [vct] } : {}
}

/** The claims of the dataset at the root of the payload, beside `vct`. SD-JWT VC, JWT Claims Set. */
function issue(order: Order, signer: Signer, random: (bytes: number) => Uint8Array): Promise<string> {
  const vct = ownString(order.configuration, 'vct') ?? ''
  const content = { typ: 'dc+sd-jwt', claims: claimsOf(order.dataset), shown: { vct }, concealable: () => true }
  return issueSdJwt(content, order, signer, random)
}
