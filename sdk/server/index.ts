/**
 * `vouchsafe/server`: the client of an issuer and of a verifier for the application that uses them. It needs `fetch`
 * and WebCrypto and nothing else: Node 20, Deno, Bun and Workers have both.
 */
export type { ServiceOptions } from './call-service.ts'
export {
  type CallbackEvent,
  type CallbackKeys,
  callbackHandler,
  nodeCallbackHandler,
  type PurgedIssuanceSession,
  type ReceivedCallback,
  readCallback,
} from './callback.ts'
export { createIssuerClient, type IssuanceSessionFilter, type IssuerClient } from './issuer-client.ts'
export type { IssuerSchemas } from './issuer-schemas.ts'
export type { OperatorClient } from './operator-client.ts'
export { type ConnectionErrorCode, ServiceError } from './service-error.ts'
export {
  createVerifierClient,
  type ResultOptions,
  type StartedSessionWithLink,
  type VerificationSessionFilter,
  type VerifierClient,
} from './verifier-client.ts'
export type { VerifierSchemas } from './verifier-schemas.ts'
export type { WaitOptions } from './wait-for-end.ts'
export type { WatchOptions } from './watch-session.ts'
