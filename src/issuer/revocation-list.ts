/** The revocation list (CRL) that certificates of the issuer name. RFC 5280 section 4.2.1.13; RFC 2585 section 4. */
import * as Type from 'typebox'
import type { PublicDocument } from '../http/document.ts'
import { refusalCodes, responseAs, sentHeaders, walletOperation } from '../http/openapi-responses.ts'
import { refuse } from '../protocol/error.ts'
import type { IssuerContext } from './context.ts'

export const REVOCATION_LIST_TYPE = 'application/pkix-crl'

export const revocationListRoute = {
  ...walletOperation,
  ...refusalCodes('not_found'),
  ...sentHeaders('ETag'),
  operationId: 'getCertificateRevocationList',
  summary: 'The revocation list of the CA of the signing certificate',
  response: responseAs(200, REVOCATION_LIST_TYPE, Type.String({ description: 'DER' })),
}

/** Returns the list of the setting `revocationListFile`. Refuses with `not_found` without that setting. */
export function getRevocationList({ config }: Pick<IssuerContext, 'config'>): PublicDocument {
  return config.revocationList ?? refuse('not_found', 'this issuer has no revocation list')
}
