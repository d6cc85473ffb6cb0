/**
 * Mobile documents: `mso_mdoc`. ISO/IEC 18013-5; OpenID4VCI 1.0, appendix ISO mdoc; OpenID4VP 1.0, Mobile Documents or mdocs.
 */
import { ownString } from '../../codec/json.ts'
import { algorithms, coseAlgorithms } from '../../keys/algorithm.ts'
import { bindingMethods, type CredentialFormat } from '../format.ts'
import { issue } from './issue.ts'
import { fulfils, hold, present } from './present.ts'
import { IDS, read } from './read.ts'
import { checkConfiguration, checkDataset, matchesMeta, queryMistakes } from './schema.ts'

const COVERED =
  'the signature of the device is over the nonce, the client identifier and the response address: see holder.signature'

export const msoMdoc: CredentialFormat = {
  ids: IDS,
  presentationAlgorithms: { issuerauth_alg_values: [...coseAlgorithms], deviceauth_alg_values: [...coseAlgorithms] },
  unasked: {
    'issuer.identifier': 'an mdoc names its issuer by its certificate only',
    'holder.nonce': COVERED,
    'holder.audience': COVERED,
    'holder.fresh': COVERED,
    'holder.transaction_data':
      'an mdoc approves a transaction by elements that the device signs, which this release does not ask for',
    'holder.sd_hash': 'the device signs the session and not the choice of elements; the issuer signed each of them',
  },
  signingAlgorithm: (alg) => algorithms[alg].cose[0],
  bindingMethods: ['cose_key', ...bindingMethods],
  checkConfiguration,
  datasetMembers: 'namespaces',
  checkDataset,
  claimsOf: (dataset) => dataset,
  queryMistakes,
  metaOf: (configuration) => ({ doctype_value: ownString(configuration, 'doctype') ?? '' }),
  matchesMeta,
  issue,
  fulfils,
  hold,
  present,
  read,
}
