/** The callbacks of a verifier, as the OpenAPI document describes them. */

import { listPostedTypes } from '../event/event.ts'
import { describeWebhooks } from '../operator/webhooks.ts'

export const verifierWebhooks = describeWebhooks(listPostedTypes('verification'), [
  { $ref: '#/components/schemas/VerificationSession' },
])
