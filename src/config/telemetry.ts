/** The setting `telemetry`: the collector that gets traces and log lines by OTLP. Without it, there are no traces. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { removeTrailingSlashes } from '../codec/url.ts'
import { ownAddressProblem } from './address.ts'

export const TelemetrySetting = Type.Object(
  {
    endpoint: Type.String({
      description:
        'Address of an OpenTelemetry collector that takes OTLP over HTTP; `/v1/traces` and `/v1/logs` follow it',
    }),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'Headers of each request to it, such as a token' }),
    ),
    serviceName: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: '`service.name`; `vouchsafe-` and the service when absent',
      }),
    ),
    sampleRatio: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'Share of the traces that are kept, where no caller with an API key decides; 1 when absent',
      }),
    ),
    logs: Type.Optional(Type.Boolean({ description: 'Whether log lines are sent as well; true when absent' })),
  },
  { additionalProperties: false },
)
type TelemetrySetting = Static<typeof TelemetrySetting>

export interface TelemetryConfig {
  /** The URL of the collector, without a trailing slash. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string | undefined
  readonly sampleRatio: number
  readonly logs: boolean
}

/** The form of a header name. RFC 9110 section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HEADER_VALUE = /^[!-~]([ -~]*[!-~])?$/
/** The headers that the service sets itself. */
const OWN_HEADERS: readonly string[] = [
  'content-type',
  'content-length',
  'content-encoding',
  'host',
  'transfer-encoding',
]

/** Returns the mistakes in the setting, without the values of headers. */
export function findTelemetryMistakes({ endpoint, headers = {} }: TelemetrySetting): string[] {
  const problem = ownAddressProblem(endpoint, 'http://collector:4318', 'headers') ?? endpointProblem(new URL(endpoint))
  const names = Object.keys(headers)
  return [
    ...(problem === undefined ? [] : [`telemetry.endpoint: ${problem}`]),
    ...Object.entries(headers).flatMap(([name, value], index) => {
      const where = `telemetry.headers: header ${index + 1} of ${names.length}`
      if (!HEADER_NAME.test(name)) return [`${where} has a name that cannot be sent`]
      if (OWN_HEADERS.includes(name.toLowerCase())) return [`${where}: ${name} is set by the service; leave it out`]
      return HEADER_VALUE.test(value) ? [] : [`${where}: ${name} has a value that cannot be sent; use printable ASCII`]
    }),
  ]
}

/** Converts a valid setting. */
export function resolveTelemetry(setting: TelemetrySetting): TelemetryConfig {
  const { endpoint, headers = {}, serviceName, sampleRatio = 1, logs = true } = setting
  return { endpoint: removeTrailingSlashes(endpoint), headers, serviceName, sampleRatio, logs }
}

function endpointProblem({ search, pathname }: URL): string | undefined {
  if (search !== '') return 'it must not have a query, as the paths of OTLP follow it'
  if (/\/v1\/(traces|logs)\/*$/.test(pathname)) return 'leave out /v1/traces, which the service adds itself'
  return undefined
}
