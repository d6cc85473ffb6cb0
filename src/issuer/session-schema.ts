/** The schemas of a session for the application: its status, and parts of a new one. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { Seconds } from '../http/openapi-responses.ts'
import { makeProblemSchemas } from '../progress/problem-members.ts'
import { NotificationEvent } from '../protocol/oid4vci.ts'
import { CredentialState } from './status-rows.ts'

export const IssuanceStatus = Type.Union([Type.Literal('STARTED'), Type.Literal('SUCCEEDED'), Type.Literal('EXPIRED')])
export type IssuanceStatus = Static<typeof IssuanceStatus>

export const IssuanceSessionStatus = Type.Object(
  {
    session_id: Type.String(),
    status: IssuanceStatus,
    created_at: Seconds,
    expires_at: Seconds,
    refresh_until: Type.Optional(Seconds),
    erased_at: Type.Optional(Seconds),
    offer_fetched_at: Type.Optional(Seconds),
    ...makeProblemSchemas('credential-offer, token, credential, deferred-credential'),
    credential_configurations: Type.Array(Type.String()),
    credentials: Type.Array(
      Type.Object({
        credential_configuration_id: Type.String(),
        issued_at: Seconds,
        credential_status: CredentialState,
      }),
    ),
    credential_status_seen_by: Type.Optional(
      Type.Integer({
        description:
          'After a change of credential_status: when verifiers have seen it that keep a status list no longer than its ttl, also those that get it from an HTTP cache, in seconds since the epoch',
      }),
    ),
    deferred: Type.Optional(
      Type.Object(
        {
          state: Type.Union([Type.Literal('PENDING'), Type.Literal('COMPLETED'), Type.Literal('DENIED')]),
          waiting_requests: Type.Integer({ description: 'Credential requests whose credentials were not fetched yet' }),
          decided_at: Type.Optional(
            Type.Integer({ description: 'The time when the application completed or denied the session' }),
          ),
        },
        { description: 'Present when the session was started without its dataset' },
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
        { description: 'Reports of wallets about their credentials' },
      ),
    ),
  },
  { title: 'IssuanceSession' },
)

/** The claims that identify the person who must sign in for an offer. */
export const OfferedPerson = Type.Unsafe<Readonly<Record<string, string>>>(
  Type.Object(
    {},
    {
      additionalProperties: Type.String({ minLength: 1, maxLength: 512 }),
      minProperties: 1,
      maxProperties: 10,
      description:
        'The person whom the offer is for: claims that this person has to have after the sign-in, sub or one that authentication.openidConnect names. With credential_dataset and the grant authorization_code alone',
      examples: [{ sub: '248289761001' }],
    },
  ),
)

/** The transaction code of a new session. */
export const NewTransactionCode = Type.Object(
  {
    value: Type.Optional(
      Type.String({ minLength: 4, maxLength: 32, description: 'Generated, and in the answer, when absent' }),
    ),
    input_mode: Type.Optional(
      Type.Union([Type.Literal('numeric'), Type.Literal('text')], { description: 'numeric when absent' }),
    ),
    length: Type.Optional(
      Type.Integer({
        minimum: 4,
        maximum: 32,
        description: 'The length of the value when absent; else 6, or 8 of text',
      }),
    ),
    description: Type.Optional(
      Type.String({
        maxLength: 300,
        description: 'Shown by the wallet; without line breaks and control characters',
      }),
    ),
  },
  {
    title: 'NewTransactionCode',
    additionalProperties: false,
    description: 'The wallet asks its holder for a transaction code; give it another way than the offer',
  },
)
