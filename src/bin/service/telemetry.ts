/** The traces and log lines for a collector. The code is only loaded if telemetry is configured. */
import type { Logger } from 'pino'
import { toBase64url } from '../../codec/base64url.ts'
import type { DatabaseConfig } from '../../config/database.ts'
import type { TelemetryConfig } from '../../config/telemetry.ts'
import type { Effects } from '../../http/effects.ts'
import { describeErrorForLog } from '../../http/logged-error.ts'
import type { Store } from '../../store/store.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { outbound, random } from '../effects.ts'
import { createLog } from '../log.ts'
import { PACKAGE_VERSION } from '../terminal/command-line.ts'
import type { Observability, ServiceName } from './service-kind.ts'

/** The difference from the system clock at which the high-resolution clock is adjusted. */
const CLOCKS_DIFFER_MS = 50

/**
 * Returns the log of a service and its telemetry, if that is configured. Problems with the collector are logged in
 * `ownLog`, whose lines are not sent to it.
 */
export async function openObservability(
  service: ServiceName,
  config: TelemetryConfig | undefined,
  { ownLog, worker }: { readonly ownLog: Logger; readonly worker: number | undefined },
): Promise<Observability> {
  if (config === undefined) return { log: ownLog }
  const { createTelemetry } = await import('../../telemetry/telemetry.ts')
  const telemetry = createTelemetry(config, {
    resource: {
      'service.name': config.serviceName ?? `vouchsafe-${service}`,
      'service.version': PACKAGE_VERSION,
      'service.instance.id': toBase64url(random(16)),
    },
    outbound,
    random,
    clock: createFineClock(),
    reportFailure: (signal, why, cause) => {
      const line = {
        event: 'telemetry_not_sent',
        signal,
        why,
        ...(cause !== undefined && { cause: describeErrorForLog(cause) }),
      }
      ownLog.warn(line, 'the collector does not take what is sent, and the service goes on')
    },
  })
  return { log: createLog(service, { worker, extension: telemetry.log }), telemetry }
}

/** Returns the effects of a service with spans. */
export function createTracedEffects<C>(
  { traceStore, outbound: tracedOutbound, requests, inSpan }: Telemetry,
  store: Store<C>,
  { kind }: DatabaseConfig,
): Required<Pick<Effects<C>, 'store' | 'outbound' | 'tracer' | 'inSpan'>> {
  return { store: traceStore(store, kind), outbound: tracedOutbound, tracer: requests, inSpan }
}

/** Creates a clock with fractions of milliseconds that follows the system clock. */
function createFineClock(): () => number {
  let offset = performance.timeOrigin
  return () => {
    const fine = offset + performance.now()
    const difference = Date.now() - fine
    if (Math.abs(difference) <= CLOCKS_DIFFER_MS) return fine
    offset += difference
    return fine + difference
  }
}
