/** The callbacks of an issuer, as the OpenAPI document describes them. */

import { listPostedTypes } from '../event/event.ts'
import { describeWebhooks } from '../operator/webhooks.ts'

/** The rest of a session that was deleted before the status of its credentials changed. */
const PURGED_SESSION = {
  title: 'PurgedIssuanceSession',
  type: 'object',
  required: ['session_id', 'credentials'],
  properties: {
    session_id: { type: 'string' },
    credentials: {
      type: 'array',
      items: {
        type: 'object',
        required: ['credential_configuration_id', 'credential_status'],
        properties: {
          credential_configuration_id: { type: 'string' },
          credential_status: { type: 'string', enum: ['VALID', 'SUSPENDED', 'REVOKED'] },
        },
      },
    },
  },
}

export const issuerWebhooks = describeWebhooks(listPostedTypes('issuance', 'credential'), [
  { $ref: '#/components/schemas/IssuanceSession' },
  PURGED_SESSION,
])
