/** The schemas of the routes of the Digital Credentials API. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { AnyObject, jsonResponse, refusalCodes, SessionParams, walletOperation } from '../http/openapi-responses.ts'
import { ResponseReceipt } from './schemas.ts'

const DigitalCredentialsRequest = Type.Object(
  {
    mediation: Type.Literal('required'),
    digital: Type.Object({ requests: Type.Array(Type.Object({ protocol: Type.String(), data: AnyObject })) }),
  },
  { title: 'DigitalCredentialsRequest', description: 'The argument of navigator.credentials.get' },
)
export type DigitalCredentialsRequest = Static<typeof DigitalCredentialsRequest>

const DigitalCredential = Type.Object(
  {
    protocol: Type.String({ description: 'One of those of the request' }),
    data: Type.Object({
      response: Type.Optional(
        Type.String({
          description:
            'JWE of an object with vp_token, to the key of the request; with org-iso-mdoc the EncryptedResponse in base64url',
        }),
      ),
      error: Type.Optional(Type.String({ description: 'access_denied when the holder declined' })),
      error_description: Type.Optional(Type.String()),
    }),
  },
  { title: 'DigitalCredential', description: 'What navigator.credentials.get gave: its protocol and data' },
)

export const digitalCredentialsRequestRoute = {
  ...walletOperation,
  ...refusalCodes('not_found', 'gone', 'temporarily_unavailable'),
  operationId: 'getDigitalCredentialsRequest',
  summary: 'The request for the browser (Digital Credentials API)',
  params: SessionParams,
  response: jsonResponse(200, DigitalCredentialsRequest),
}

export const digitalCredentialRoute = {
  ...walletOperation,
  ...refusalCodes('not_found', 'gone'),
  operationId: 'postDigitalCredential',
  summary: 'What the browser gave: a presentation, or why not',
  params: SessionParams,
  body: DigitalCredential,
  response: jsonResponse(200, ResponseReceipt),
}
