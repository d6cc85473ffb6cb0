/** The setting `management`: a port for operators. */
import * as Type from 'typebox'

/** The address of the metrics server. */
export interface MetricsAddress {
  readonly port: number
  readonly host: string
}

/** The host that includes all others; an absent host stands for it. */
const ALL_HOSTS = '::'
/** The host that includes all of IPv4. */
const ALL_OF_IPV4 = '0.0.0.0'

export const ManagementSetting = Type.Object(
  {
    port: Type.Integer({ minimum: 0, maximum: 65_535, description: 'Port of GET /metrics' }),
    host: Type.Optional(Type.String({ description: 'Address of it; 127.0.0.1 when absent' })),
  },
  { additionalProperties: false },
)

type Setting = Type.Static<typeof ManagementSetting>

/** Adds the default host. */
export function resolveManagement(setting: Setting): MetricsAddress {
  return { port: setting.port, host: setting.host ?? '127.0.0.1' }
}

/** Returns a mistake if the port is that of the service at the same host, or at one that includes it. */
export function findManagementMistakes(
  setting: Setting | undefined,
  { port, host }: { readonly port: number; readonly host: string | undefined },
): string[] {
  if (setting === undefined || setting.port === 0 || setting.port !== port) return []
  const hosts = [resolveManagement(setting).host, host ?? ALL_HOSTS].map((each) =>
    each === 'localhost' ? '127.0.0.1' : each,
  )
  const isShared =
    hosts[0] === hosts[1] ||
    hosts.includes(ALL_HOSTS) ||
    // A name may have an address of IPv4.
    (hosts.includes(ALL_OF_IPV4) && !hosts.some((each) => each.includes(':')))
  return isShared ? [`management.port: ${port} is the port of the service itself; name another for GET /metrics`] : []
}
