/** What each operation of the issuance service takes and gives: the schemas that validate, and the OpenAPI document. */
import type { Static, TSchema } from 'typebox'
import * as Type from 'typebox'
import type { JsonObject } from '../codec/json.ts'
import {
  answers,
  answersByType,
  byApplication,
  byType,
  byWallet,
  IdempotencyHeader,
  JSON_TYPE,
  JWT_TYPE,
  Seconds,
  SessionParams,
} from '../http/answers.ts'
import { PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../protocol/grant.ts'
import { TokenResponse } from '../protocol/oauth.ts'
import {
  CredentialConfiguration,
  CredentialOffer,
  CredentialRequest,
  CredentialResponse,
  DeferredCredentialRequest,
  NotificationEvent,
  NotificationRequest,
  PLAIN_TEXT,
} from '../protocol/oid4vci.ts'
import { CredentialState } from './status-list/schemas.ts'
import { MAX_CODE } from './token-endpoint/pre-authorized-code.ts'

const ConfigurationParams = Type.Object({ credential_configuration_id: Type.String() })

const NewTxCode = Type.Object(
  {
    value: Type.Optional(
      Type.String({ minLength: 4, maxLength: 32, description: 'Generated, and in the answer, when absent' }),
    ),
    input_mode: Type.Optional(
      Type.Union([Type.Literal('numeric'), Type.Literal('text')], { description: 'numeric when absent' }),
    ),
    length: Type.Optional(
      Type.Integer({ minimum: 4, maximum: 32, description: 'That of the value when absent; else 6, or 8 of text' }),
    ),
    description: Type.Optional(Type.String({ maxLength: 300, description: 'Shown by the wallet' })),
  },
  {
    additionalProperties: false,
    description: 'The wallet asks its holder for a transaction code; give it another way than the offer',
  },
)

const Dataset = Type.Unsafe<JsonObject>(
  Type.Object(
    {},
    {
      description:
        '{credentialSubject: {claim: value}}, of W3C formats; the claims themselves, of dc+sd-jwt; {namespace: {element: value}}, of mso_mdoc. Where a session has several formats, each takes its own members of the one dataset',
    },
  ),
)

export const NewSession = Type.Object(
  {
    credential_dataset: Type.Optional(Dataset),
    deferred: Type.Optional(
      Type.Boolean({ description: 'The dataset comes later; wallets wait. Then without credential_dataset' }),
    ),
    credential_configurations: Type.Array(Type.String(), { minItems: 1, maxItems: 50, uniqueItems: true }),
    expires_in: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800, description: 'Seconds; 600 when absent' })),
    'pre-authorized_code': Type.Optional(
      Type.String({
        minLength: 16,
        maxLength: MAX_CODE,
        pattern: '^[!-~]*$',
        description:
          'The code of the offer, where an authorization server knows it already; used once; made when absent',
      }),
    ),
    tx_code: Type.Optional(NewTxCode),
    refresh_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31_536_000,
        description:
          'How long after its first token the wallet may get the credential anew; when absent not at all, and seven days where it is deferred',
      }),
    ),
  },
  { additionalProperties: false },
)
export type NewSession = Static<typeof NewSession>

/** What becomes of a deferred session. */
export const Completion = Type.Object(
  {
    credential_dataset: Type.Optional(Dataset),
    denied: Type.Optional(Type.Literal(true, { description: 'There will be no credential' })),
    reason: Type.Optional(
      Type.String({ maxLength: 300, pattern: PLAIN_TEXT, description: 'For the wallet, why it was denied' }),
    ),
  },
  { additionalProperties: false },
)
export type Completion = Static<typeof Completion>

/** All optional: what is missing is refused with the code that OAuth has for it. Unknown parameters are ignored. */
export const TokenRequest = Type.Object({
  grant_type: Type.Optional(Type.String({ description: `${PRE_AUTHORIZED_GRANT} or ${REFRESH_GRANT}` })),
  'pre-authorized_code': Type.Optional(Type.String()),
  tx_code: Type.Optional(Type.String({ description: 'What the holder typed in, where the offer asks for it' })),
  refresh_token: Type.Optional(Type.String({ description: 'From a token response, with the grant type of that name' })),
  authorization_details: Type.Optional(
    Type.String({ description: 'JSON: [{"type": "openid_credential", "credential_configuration_id"}]' }),
  ),
})
export type TokenRequest = Static<typeof TokenRequest>

const SessionStatus = Type.Object({
  session_id: Type.String(),
  status: Type.Union([Type.Literal('STARTED'), Type.Literal('SUCCEEDED'), Type.Literal('EXPIRED')]),
  created_at: Seconds,
  expires_at: Seconds,
  refresh_until: Type.Optional(Seconds),
  erased_at: Type.Optional(Seconds),
  offer_fetched_at: Type.Optional(Seconds),
  problem: Type.Optional(
    Type.Object(
      {
        endpoint: Type.String({ description: 'Such as credential-offer, token, credential, deferred-credential' }),
        error: Type.String(),
        error_description: Type.String(),
        count: Type.Integer({ description: 'How many refusals in a row had this endpoint and this error' }),
        at: Seconds,
      },
      { description: 'The last refusal of a wallet' },
    ),
  ),
  credential_configurations: Type.Array(Type.String()),
  credentials: Type.Array(
    Type.Object({
      credential_configuration_id: Type.String(),
      issued_at: Seconds,
      credential_status: CredentialState,
    }),
  ),
  deferred: Type.Optional(
    Type.Object(
      {
        state: Type.Union([Type.Literal('PENDING'), Type.Literal('COMPLETED'), Type.Literal('DENIED')]),
        waiting_requests: Type.Integer({ description: 'Of wallets, whose credentials have not been fetched' }),
      },
      { description: 'Of a session that was started without its dataset' },
    ),
  ),
  notifications: Type.Optional(
    Type.Array(
      Type.Object({
        credential_configuration_id: Type.String(),
        event: NotificationEvent,
        event_description: Type.Optional(Type.String()),
        notified_at: Seconds,
      }),
      { description: 'What wallets said of their credentials' },
    ),
  ),
})

export const createConfiguration = {
  ...byApplication,
  summary: 'Declare a credential configuration; the answer is its id',
  body: CredentialConfiguration,
  response: answers(201, Type.String(), 'text/plain'),
}

export const getConfiguration = {
  ...byApplication,
  summary: 'A credential configuration as it was posted',
  params: ConfigurationParams,
  response: answers(200, CredentialConfiguration),
}

export const removeConfiguration = {
  ...byApplication,
  summary: 'Take a credential configuration away from new sessions',
  params: ConfigurationParams,
  response: answers(200, Type.Object({})),
}

export const newSession = {
  ...byApplication,
  summary: 'Start an issuance session',
  headers: IdempotencyHeader,
  body: NewSession,
  response: answers(
    200,
    Type.Object({
      session_id: Type.String(),
      credential_offer_uri: Type.String(),
      tx_code: Type.Optional(Type.String({ description: 'The transaction code, where one was generated' })),
    }),
  ),
}

export const complete = {
  ...byApplication,
  summary: 'Decide on a deferred issuance session; the answer is its status',
  params: SessionParams,
  body: Completion,
  response: answers(200, SessionStatus),
}

export const sessionStatus = {
  ...byApplication,
  summary: 'The status of an issuance session',
  params: SessionParams,
  response: answers(200, SessionStatus),
}

export const offer = {
  ...byWallet,
  summary: 'The credential offer',
  params: SessionParams,
  response: answers(200, CredentialOffer),
}

export const nonce = {
  ...byWallet,
  summary: 'A fresh c_nonce',
  response: answers(200, Type.Object({ c_nonce: Type.String() })),
}

export const token = {
  ...byWallet,
  summary: 'Redeem the pre-authorized code, or a refresh token',
  consumes: ['application/x-www-form-urlencoded'],
  body: TokenRequest,
  response: answers(200, TokenResponse),
}

export const keys = {
  ...byWallet,
  summary: 'The public keys of access tokens',
  response: answers(200, Type.Object({ keys: Type.Array(Type.Object({})) })),
}

const credentialContent = { [JSON_TYPE]: CredentialResponse, [JWT_TYPE]: Type.String() }
/** At once, or later. */
const credentialAnswers = { ...answersByType(credentialContent), 202: byType(credentialContent) }

const byToken = { tags: ['wallet'], security: [{ accessToken: [] }, { dpopAccessToken: [] }] }

export const credential = {
  ...byToken,
  summary: 'Issue a credential to the key of the proof',
  // Either may be encrypted.
  body: byType({ [JSON_TYPE]: CredentialRequest, [JWT_TYPE]: Type.String() }),
  response: credentialAnswers,
}

export const deferredCredential = {
  ...byToken,
  summary: 'The credentials of a request that had to wait',
  body: byType({ [JSON_TYPE]: DeferredCredentialRequest, [JWT_TYPE]: Type.String() }),
  response: credentialAnswers,
}

export const draft15DeferredCredential = {
  ...deferredCredential,
  summary: 'The same for wallets of drafts up to 15, which are refused with issuance_pending while they have to wait',
}

export const notification = {
  ...byToken,
  summary: 'Hear what became of credentials',
  body: NotificationRequest,
  response: answers(204),
}

/** A metadata document, of the service or of a session. */
export function document(summary: string, content: TSchema) {
  return { ...byWallet, summary, response: answers(200, content) }
}

/** One that comes signed to whoever asks for that. */
export function signedDocument(summary: string, content: TSchema) {
  return { ...byWallet, summary, response: answersByType({ [JSON_TYPE]: content, [JWT_TYPE]: Type.String() }) }
}
