/** The endpoints of the services that the pages use. The console forwards no other requests. */

export interface ConsoleService {
  /** The base URL. */
  readonly url: string
  readonly apiKey: string
  /** The URL of the service for wallets, if it is not `url`. */
  readonly walletOrigin?: string
}

/** An execution engine. Without an API key, the console shows only public information. */
export interface ConsoleEngine {
  readonly url: string
  readonly apiKey?: string
}

export interface ConsoleServices {
  readonly issuer?: ConsoleService
  readonly verifier?: ConsoleService
  readonly engines?: readonly ConsoleEngine[]
}

/** A request to forward to a service. */
export interface ForwardedRequest {
  readonly name: ServiceWord
  readonly service: ConsoleEngine
  /** The environment variable that the API key of the service came from. */
  readonly keyVariable: string
  readonly method: string
  readonly target: string
}

/** The word for a kind of service. */
export type ServiceWord = 'issuer' | 'verifier' | 'engine'

/** The environment variables of the API keys. */
export const KEY_VARIABLES = {
  issuer: 'VOUCHSAFE_ISSUER_API_KEY',
  verifier: 'VOUCHSAFE_VERIFIER_API_KEY',
  engine: 'VOUCHSAFE_ENGINE_API_KEYS',
} as const

/** The endpoints that an issuer and a verifier have for whoever operates them. */
const OPERATOR_ENDPOINTS = [
  /^GET \/health\/ready$/,
  /^GET \/operations\/overview$/,
  /^GET \/callbacks\/(waiting|dead)(\?[^#]*)?$/,
  /^POST \/callbacks\/redeliver(\/[\w-]+)?$/,
  /^GET \/audit\/(records|verification)(\?[^#]*)?$/,
]

const ENDPOINTS: Readonly<Record<ServiceWord, readonly RegExp[]>> = {
  issuer: [
    ...OPERATOR_ENDPOINTS,
    /^GET \/\.well-known\/openid-credential-issuer$/,
    /^GET \/issuance\/oid4vci\/sessions(\?[^#]*)?$/,
    /^(GET|POST) \/issuance\/oid4vci\/(status\/[\w-]+|new-session|complete\/[\w-]+)$/,
    /^GET \/issuance\/oid4vci\/events\/[\w-]+$/,
    /^(GET|POST) \/credential-configuration\/[\w-]+$/,
    /^POST \/credential-status\/(revoke|suspend|reinstate)\/[\w-]+$/,
  ],
  verifier: [
    ...OPERATOR_ENDPOINTS,
    /^(GET \/trust-anchors|POST \/trust-anchors\/test)$/,
    /^GET \/presentation\/oid4vp\/sessions(\?[^#]*)?$/,
    /^(GET|POST) \/presentation\/oid4vp\/(status\/[\w-]+|new-session|static-presentation)$/,
    /^GET \/presentation\/oid4vp\/events\/[\w-]+$/,
    /^(GET|POST) \/verification-query\/[\w-]+$/,
  ],
  engine: [/^GET \/health\/ready$/, /^GET \/engine(\?after=\w+|\/contracts\/\w+)?$/],
}

/** Returns the service and the target for a request of a page; undefined if it is not an allowed endpoint. */
export function findEndpoint(services: ConsoleServices, method: string, url: string): ForwardedRequest | undefined {
  const [, prefix = '', at, target = ''] = /^\/api\/(issuer|verifier|engine\/(\d+))(\/.*)$/.exec(url) ?? []
  const name = prefix === 'issuer' || prefix === 'verifier' ? prefix : 'engine'
  const service = name === 'engine' ? services.engines?.[Number(at)] : services[name]
  const isForwarded = ENDPOINTS[name].some((each) => each.test(`${method} ${target}`))
  return service !== undefined && isForwarded
    ? { name, service, keyVariable: KEY_VARIABLES[name], method, target }
    : undefined
}
