/** The setting `stopping`: how a service stops after SIGTERM. */
import * as Type from 'typebox'

export interface Stopping {
  /** The seconds for which the service still answers requests, while its readiness is 503. */
  readonly graceSeconds: number
}

/** The default of `graceSeconds`. */
const GRACE_SECONDS = 0

export const StoppingSetting = Type.Object(
  {
    graceSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 600,
        description: `How long requests are still taken after SIGTERM, while GET /health/ready answers 503; ${GRACE_SECONDS} when absent`,
      }),
    ),
  },
  { additionalProperties: false },
)

/** Adds the defaults. */
export function resolveStopping(setting: Partial<Stopping> = {}): Stopping {
  return { graceSeconds: setting.graceSeconds ?? GRACE_SECONDS }
}
