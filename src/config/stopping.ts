/** How a service stops when it is told to by SIGTERM. */
import * as Type from 'typebox'

export interface Stopping {
  /** For how long it goes on answering, and says that it is not ready. */
  readonly graceSeconds: number
}

export const StoppingSetting = Type.Object(
  {
    graceSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 600,
        description:
          'How long requests are still taken after SIGTERM, while GET /health/ready answers 503; 0 when absent',
      }),
    ),
  },
  { additionalProperties: false },
)

export function stoppingOf(setting: Partial<Stopping> = {}): Stopping {
  return { graceSeconds: setting.graceSeconds ?? 0 }
}
