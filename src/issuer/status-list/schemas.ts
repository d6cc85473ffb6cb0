/** What the operations of `routes.ts` take and give. */
import * as Type from 'typebox'
import { answers, answersByType, byApplication, byWallet, SessionParams } from '../../http/answers.ts'
import { LIST_TYPES } from './documents.ts'

export const CredentialState = Type.Union([Type.Literal('VALID'), Type.Literal('SUSPENDED'), Type.Literal('REVOKED')])

const ChangedStatus = Type.Object({ session_id: Type.String(), credential_status: CredentialState })
const ListParams = Type.Object({ list_id: Type.String() })

const change = (summary: string) => ({
  ...byApplication,
  summary,
  params: SessionParams,
  response: answers(200, ChangedStatus),
})

export const changeStatus = {
  revoke: change('Revoke the credentials of a session, for good'),
  suspend: change('Suspend the credentials of a session'),
  reinstate: change('End the suspension of the credentials of a session'),
}

export const statusList = {
  ...byWallet,
  summary: 'A status list token',
  params: ListParams,
  querystring: Type.Object({ time: Type.Optional(Type.Unknown({ description: 'Refused with 501' })) }),
  response: answersByType({
    [LIST_TYPES.jwt]: Type.String(),
    [LIST_TYPES.cwt]: Type.String({ description: 'CBOR' }),
  }),
}

const bitstring = (summary: string) => ({
  ...byWallet,
  summary,
  params: ListParams,
  response: answersByType({ [LIST_TYPES.revocation]: Type.String() }),
})

export const bitstringList = {
  revocation: bitstring('A status list as a BitstringStatusListCredential: what has been revoked'),
  suspension: bitstring('A status list as a BitstringStatusListCredential: what is suspended'),
}
