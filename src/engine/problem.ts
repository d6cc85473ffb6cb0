/**
 * The error responses of the engine itself, never of a component: problem documents (RFC 9457), with the code in
 * `x-engine-error`.
 */
import { FULL_SECONDS } from './retry.ts'

interface ProblemKind {
  readonly status: number
  readonly detail: string
}

/** Refers to the log. Only the log has the reason, because the failure of a component may reveal secrets. */
const FOR_THE_OPERATOR = 'the log of this engine has the reason, under the x-request-id of this answer'

/** The time limit for a request to arrive completely. */
export const ARRIVAL_SECONDS = 60

/**
 * The problems by code, each with its status and its default text. `sdk/client/engine-client.ts` and docs/engine.md
 * list the codes too; test/docs.test.ts fails when one is missing there.
 */
export const problems = {
  'bad-request': { status: 400, detail: 'this is not an HTTP request that can be read' },
  'bad-address': {
    status: 400,
    detail: 'what stands after /offchain/ must be the address of a contract: 20 or 21 bytes in hexadecimal',
  },
  unauthorized: {
    status: 401,
    detail: 'send an API key of integrations.authentication of this engine as Authorization: Bearer <key>',
  },
  'unknown-contract': {
    status: 404,
    detail: 'this engine serves no contract with that address; GET /engine says which',
  },
  'no-http-hook': { status: 404, detail: 'the off-chain component of this contract takes no requests' },
  'not-found': { status: 404, detail: 'there is nothing here; components are at /offchain/<contract address>/<path>' },
  'method-not-allowed': { status: 405, detail: 'this path takes GET and HEAD' },
  'request-timeout': { status: 408, detail: `the request did not arrive within ${ARRIVAL_SECONDS} seconds` },
  'body-too-large': { status: 413, detail: 'the body of the request is larger than limits.bodyBytes of this engine' },
  'target-too-long': {
    status: 414,
    detail: 'the target of the request is longer than limits.targetBytes of this engine',
  },
  'not-this-engine': { status: 421, detail: 'the contract does not list this engine; read its engines again' },
  'too-many-requests': {
    status: 429,
    detail: 'more requests per second come from this address than limits.requestsPerSecond of this engine',
  },
  'headers-too-large': {
    status: 431,
    detail: 'the header fields of the request are larger than limits.headerBytes of this engine',
  },
  'component-trap': {
    status: 500,
    detail: `the component failed, and nothing of what it did was kept; ${FOR_THE_OPERATOR}`,
  },
  'server-error': { status: 500, detail: `this engine failed to answer; ${FOR_THE_OPERATOR}` },
  'bad-component-response': {
    status: 502,
    detail: `the component answered with what is not an HTTP response; ${FOR_THE_OPERATOR}`,
  },
  'stale-chain': {
    status: 503,
    detail: 'this engine sees nothing new of the chain, or of this contract on it, at the moment',
  },
  overloaded: {
    status: 503,
    detail: 'too many requests are running or waiting in this engine; try again after the seconds of Retry-After',
  },
  starting: { status: 503, detail: 'this engine is starting; try again in a moment' },
  reconciling: {
    status: 503,
    detail: 'the chain took back a block that this contract had been served at; try again in a moment',
  },
  'transaction-quota': { status: 503, detail: 'the contract asks this engine for too many transactions' },
  'component-unavailable': {
    status: 503,
    detail: 'this engine cannot run the component of the contract; GET /engine says why',
  },
  deadline: {
    status: 504,
    detail: `the component took too long, and nothing of what it did was kept; ${FOR_THE_OPERATOR}`,
  },
  'storage-quota': { status: 507, detail: 'the contract stores or schedules too much in this engine' },
} as const satisfies Record<string, ProblemKind>

/** The titles of statuses. RFC 9110 section 15, RFC 6585, RFC 4918 section 11. */
const TITLES = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  414: 'URI Too Long',
  421: 'Misdirected Request',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  507: 'Insufficient Storage',
} as const

export type ProblemCode = keyof typeof problems

export interface ProblemResponse {
  readonly code: ProblemCode
  readonly status: number
  /** The reason phrase of the status. */
  readonly title: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The error that carries a problem to the code that sends it. */
export class ProblemError extends Error {
  readonly problem: ProblemResponse

  constructor(response: ProblemResponse, options?: ErrorOptions) {
    super(response.code, options)
    this.problem = response
  }
}

/** The seconds after which another attempt may succeed. */
const RETRY_SECONDS: Partial<Record<ProblemCode, number>> = {
  overloaded: FULL_SECONDS,
  starting: 1,
  reconciling: 1,
  'stale-chain': 5,
  'component-unavailable': 10,
}

/** Makes a problem response. `detail` replaces the default text of the code. */
export function makeProblem(
  code: ProblemCode,
  { retryAfter = RETRY_SECONDS[code], detail }: ProblemOptions = {},
): ProblemResponse {
  const { status, detail: standard } = problems[code]
  const title = TITLES[status]
  const document = { type: 'about:blank', title, status, detail: detail ?? standard, code }
  return {
    code,
    status,
    title,
    headers: {
      'content-type': 'application/problem+json',
      'x-engine-error': code,
      'cache-control': 'no-store',
      // RFC 9110 sections 11.6.1 and 15.5.6
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    },
    body: Buffer.from(JSON.stringify(document)),
  }
}

/** Makes the problem for a request that exceeds a limit. The value of the limit follows the default text. */
export function makeLimitProblem(
  code: 'body-too-large' | 'target-too-long' | 'headers-too-large' | 'too-many-requests',
  value: number,
  retryAfter?: number,
): ProblemResponse {
  return makeProblem(code, { retryAfter, detail: `${problems[code].detail} (${value})` })
}

interface ProblemOptions {
  readonly retryAfter?: number | undefined
  readonly detail?: string
}
