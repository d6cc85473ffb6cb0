/** The setting `management`: a port for operators. */
import * as Type from 'typebox'

/** The address of the metrics server. */
export interface MetricsAddress {
  readonly port: number
  readonly host: string
}

export const ManagementSetting = Type.Object(
  {
    port: Type.Integer({ minimum: 0, maximum: 65_535, description: 'Port of GET /metrics' }),
    host: Type.Optional(Type.String({ description: 'Address of it; 127.0.0.1 when absent' })),
  },
  { additionalProperties: false },
)

/** Adds the default host. */
export function resolveManagement(setting: { readonly port: number; readonly host?: string }): MetricsAddress {
  return { port: setting.port, host: setting.host ?? '127.0.0.1' }
}
