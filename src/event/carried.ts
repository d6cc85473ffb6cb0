/** Which events the callback tells the application of; the others are for the audit log alone. */
import type { EventType } from './event.ts'

export const carriedByCallback: Readonly<Record<EventType, boolean>> = {
  'configuration.created': false,
  'configuration.removed': false,
  'issuance.started': false,
  'issuance.succeeded': true,
  'issuance.deferred': true,
  'issuance.completed': false,
  'issuance.denied': false,
  'issuance.notified': true,
  'issuance.expired': true,
  'credential.revoked': true,
  'credential.suspended': true,
  'credential.reinstated': true,
  'query.created': false,
  'presentation.verified': false,
  'verification.started': false,
  'verification.succeeded': true,
  'verification.failed': true,
  'verification.declined': true,
  'verification.expired': true,
}
