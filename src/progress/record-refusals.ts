/** The hook that records the refused requests of wallets for the session status. */
import type { App } from '../http/app-type.ts'
import { toProtocolError } from '../http/error-response.ts'
import { describeRefusalForLog } from '../http/logged-error.ts'
import type { ErrorCode, ProtocolError } from '../protocol/error.ts'
import type { ProgressRecorder } from './progress-recorder.ts'

/** Errors that are part of normal operation, and not recorded as problems of a wallet. */
const UNREMARKABLE: readonly ErrorCode[] = [
  'use_dpop_nonce',
  'use_attestation_challenge',
  'issuance_pending',
  'too_many_requests',
]
const MAX_DESCRIPTION = 300

/**
 * Adds the hook that records each refusal at a route with `walletEndpoint` for the session status, and the hook that
 * writes what is queued when the service stops.
 */
export function recordRefusals(
  app: App,
  { progress, now }: { readonly progress: ProgressRecorder; readonly now: () => Date },
): void {
  app.addHook('onError', (request, _reply, thrownError, done) => {
    const { walletEndpoint: endpoint } = request.routeOptions.config
    const refusal = toProtocolError(thrownError, request)
    const { code: error } = refusal
    if (
      request.method !== 'HEAD' &&
      endpoint !== undefined &&
      request.sessionId !== undefined &&
      !UNREMARKABLE.includes(error)
    ) {
      const description = describeForApplication(refusal, thrownError).slice(0, MAX_DESCRIPTION)
      progress.addIfExists(request.sessionId, {
        problem: { endpoint, error, description, count: 1, at: now().getTime() },
      })
    }
    done()
  })
  app.addHook('onClose', () => progress.finish())
}

/**
 * Describes a refusal for the application: as the wallet was told, and the reason that only the log has beside it. The
 * message of an unexpected error is no reason, since it may have claims in it.
 */
function describeForApplication(refusal: ProtocolError, thrownError: unknown): string {
  const isUnexpected = refusal !== thrownError || refusal.code === 'server_error'
  const reason = isUnexpected ? undefined : describeRefusalForLog(refusal)
  return typeof reason === 'string' ? `${refusal.message} (${reason})` : refusal.message
}
