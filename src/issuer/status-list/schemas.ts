/** The schemas of the routes of `routes.ts`. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import {
  applicationOperation,
  jsonResponse,
  refusalCodes,
  responseByType,
  SessionParams,
  sentHeaders,
  walletOperation,
} from '../../http/openapi-responses.ts'
import { CredentialState } from '../status-rows.ts'
import { LIST_MEDIA_TYPES } from './documents.ts'

export const ChangedStatus = Type.Object(
  { session_id: Type.String(), credential_status: CredentialState },
  { title: 'ChangedCredentialStatus' },
)
export type ChangedStatus = Static<typeof ChangedStatus>
const ListParams = Type.Object({ list_id: Type.String() })

const change = (operationId: string, summary: string) => ({
  ...applicationOperation,
  ...refusalCodes('not_found', 'invalid_state'),
  operationId,
  summary,
  params: SessionParams,
  response: jsonResponse(200, ChangedStatus),
})

export const changeStatusRoute = {
  revoke: change('revokeCredentials', 'Revoke the credentials of a session, for good'),
  suspend: change('suspendCredentials', 'Suspend the credentials of a session'),
  reinstate: change('reinstateCredentials', 'End the suspension of the credentials of a session'),
}

export const statusListRoute = {
  ...walletOperation,
  ...refusalCodes('not_found', 'not_implemented', 'temporarily_unavailable'),
  ...sentHeaders('ETag'),
  operationId: 'getStatusList',
  summary: 'A status list token',
  params: ListParams,
  querystring: Type.Object({ time: Type.Optional(Type.Unknown({ description: 'Refused with 501' })) }),
  response: responseByType({
    [LIST_MEDIA_TYPES.jwt]: Type.String(),
    [LIST_MEDIA_TYPES.cwt]: Type.String({ description: 'CBOR' }),
  }),
}

const bitstring = (operationId: string, summary: string) => ({
  ...walletOperation,
  ...refusalCodes('not_found', 'temporarily_unavailable'),
  ...sentHeaders('ETag'),
  operationId,
  summary,
  params: ListParams,
  response: responseByType({ [LIST_MEDIA_TYPES.revocation]: Type.String() }),
})

export const bitstringListRoute = {
  revocation: bitstring('getRevocationList', 'A status list as a BitstringStatusListCredential: what has been revoked'),
  suspension: bitstring('getSuspensionList', 'A status list as a BitstringStatusListCredential: what is suspended'),
}
