/** `GET /openapi`: describes the API of an engine, without the requests and answers that each component defines. */
import { COMMON_DESCRIPTIONS, describeHeaders, NOT_MODIFIED } from '../http/openapi-headers.ts'
import { CALL_OUTCOMES } from './call-history.ts'
import { CONTRACT_STATES } from './contract-entry.ts'
import { type ProblemCode, problems } from './problem.ts'
import { MAX_HOOKS, MAX_REASON_CHARACTERS } from './status.ts'

const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(problems) },
  },
}

const HEADERS = {
  ...COMMON_DESCRIPTIONS,
  Allow: 'The methods that the path takes',
  'WWW-Authenticate': 'How to authenticate',
  'X-Engine-Block': 'The number of the block that the engine answers by; absent while it knows none',
  'X-Engine-Error': 'The code of the problem; an answer of a component has none',
  'X-Engine-Signature': 'The signature of the engine over the answer of the component',
}

const headersOf = (...names: readonly (keyof typeof HEADERS)[]) => describeHeaders(names, HEADERS)

const refusals = Object.fromEntries(
  [...new Set(Object.values(problems).map(({ status }) => status))].map((status) => [
    String(status),
    {
      description: codesOf(status).join(', '),
      ...refusalHeaders(status),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ]),
)

function refusalHeaders(status: number) {
  return headersOf(
    ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
    ...(status === 405 ? (['Allow'] as const) : []),
    ...(status === 429 || status === 503 ? (['Retry-After'] as const) : []),
    'X-Engine-Block',
    'X-Engine-Error',
  )
}

function codesOf(status: number): string[] {
  return (Object.keys(problems) as ProblemCode[]).filter((code) => problems[code].status === status)
}

const pickRefusals = (statuses: readonly string[]) =>
  Object.fromEntries(statuses.map((status) => [status, refusals[status]]))

const componentOperation = (method: string) => ({
  operationId: `${method}FromComponent`,
  tags: ['component'],
  summary: 'Asks the off-chain component of a contract',
  security: [],
  responses: {
    ...refusals,
    default: { description: 'Whatever the component answers', ...headersOf('X-Engine-Block', 'X-Engine-Signature') },
  },
})

/** Describes an operation of the engine itself, with the statuses of its refusals. */
const engineOperation = (
  operationId: string,
  summary: string,
  statuses: readonly string[],
  schema: object = { type: 'object', additionalProperties: true },
) => ({
  get: {
    operationId,
    tags: ['operation'],
    summary,
    security: [],
    responses: {
      '200': {
        description: 'The answer',
        content: { 'application/json': { schema } },
      },
      ...pickRefusals(statuses),
    },
  },
})

/** Adds the version of the document to an operation, and the answer to a caller that has it. */
const withEtag = ({ get }: ReturnType<typeof engineOperation>) => ({
  get: {
    ...get,
    responses: {
      ...get.responses,
      '200': { ...get.responses['200'], ...headersOf('ETag') },
      '304': { description: NOT_MODIFIED, ...headersOf('ETag') },
    },
  },
})

const contractParameter = {
  name: 'contract',
  in: 'path',
  required: true,
  schema: { type: 'string', pattern: '^(0x)?([0-9a-fA-F]{40}|[0-9a-fA-F]{42})$' },
}

const text = { type: 'string' }
const count = { type: 'integer', minimum: 0 }
const listOf = (
  properties: Readonly<Record<string, object>>,
  required: readonly string[] = Object.keys(properties),
) => {
  return { type: 'array', items: { type: 'object', required, properties } }
}

const STATUS_MEMBERS = ['address', 'state', 'component', 'hooks', 'state_change'] as const
const statusProperties = {
  address: text,
  state: { type: 'string', enum: CONTRACT_STATES },
  why: { ...text, description: 'Why its component cannot be run' },
  component: { type: ['string', 'null'], description: 'SHA-256 of the bytes' },
  hooks: { type: 'array', items: text, description: `${MAX_HOOKS} at most, by name: those of timers come last` },
  state_change: { type: 'string', enum: ['done', 'pending', 'dead'] },
  state_change_problem: {
    type: 'object',
    required: ['why', 'attempts', 'again', 'detail'],
    properties: { why: text, attempts: count, again: { type: ['string', 'null'], format: 'date-time' }, detail: text },
  },
}

const engineSchema = {
  type: 'object',
  required: ['address', 'chain', 'block', 'stale', 'response_key', 'endorsement', 'contracts'],
  properties: {
    address: text,
    chain: { type: 'object', required: ['id', 'addresses'], properties: { id: text, addresses: text } },
    block: {
      type: ['object', 'null'],
      required: ['number', 'hash', 'time'],
      properties: { number: count, hash: text, time: { type: 'string', format: 'date-time' } },
    },
    stale: {
      type: 'boolean',
      description: 'Whether the engine refuses requests, since it sees nothing new of the chain',
    },
    response_key: text,
    endorsement: { type: 'object', description: 'The signature of the identity of the engine over that key' },
    contracts: {
      ...listOf(statusProperties, STATUS_MEMBERS),
      description: `Those of a page, by their addresses, with ${MAX_REASON_CHARACTERS} characters of \`why\` at most`,
    },
    next: { ...text, description: 'The address to give as `after` for the following page; absent when there is none' },
  },
}

/** The details of a contract, including the public members that `GET /engine` shows. */
const detailsSchema = {
  type: 'object',
  required: [
    ...STATUS_MEMBERS,
    ...['component_uri', 'engines', 'storage_bytes', 'transactions', 'timers', 'waiting_calls', 'calls'],
  ],
  properties: {
    ...statusProperties,
    component_uri: { type: ['string', 'null'] },
    engines: { ...listOf({ address: text, endpoint: text }), type: ['array', 'null'] },
    storage_bytes: count,
    transactions: { type: 'object', required: ['waiting', 'today'], properties: { waiting: count, today: count } },
    timers: listOf({ id: count, status: text }),
    waiting_calls: count,
    calls: {
      ...listOf(
        {
          at: { type: 'string', format: 'date-time' },
          hook: { type: 'string', enum: ['http', 'state-change', 'timer', 'engines'] },
          asked: { ...text, description: 'Method and path of a request' },
          request: { ...text, description: 'The x-request-id of its answer' },
          outcome: { type: 'string', enum: CALL_OUTCOMES },
          status: count,
          milliseconds: count,
          why: text,
          log: { type: 'array', items: text },
        },
        ['at', 'hook', 'outcome', 'milliseconds', 'log'],
      ),
      description: 'The latest calls since the engine was started, the latest first',
    },
  },
}

const contractDetails = {
  parameters: [contractParameter],
  get: {
    operationId: 'getContract',
    tags: ['operation'],
    summary: 'The latest calls of the component of a contract, with what it logged, and what it has in the engine',
    security: [{ apiKey: [] }],
    responses: {
      '200': {
        description: 'The answer',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/ContractDetails' } } },
      },
      ...pickRefusals(['400', '401', '404', '429']),
    },
  },
}

export const openApi = {
  openapi: '3.1.0',
  info: {
    title: 'Vouchsafe execution engine',
    description: 'Off-chain components of smart contracts over HTTP',
    version: '1',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  tags: [
    { name: 'component', description: 'Answered by the component of a contract, each in its own way' },
    { name: 'operation', description: 'About the engine itself' },
  ],
  paths: {
    '/offchain/{contract}/{path}': {
      parameters: [
        contractParameter,
        {
          name: 'path',
          in: 'path',
          required: true,
          schema: { type: 'string' },
          description: 'With slashes and a query, as it is',
        },
      ],
      ...Object.fromEntries(
        ['get', 'put', 'post', 'patch', 'delete'].map((method) => [method, componentOperation(method)]),
      ),
    },
    '/engine': {
      parameters: [
        {
          name: 'after',
          in: 'query',
          schema: text,
          description: 'The address after which the list of contracts begins',
        },
      ],
      ...engineOperation(
        'getEngine',
        'Who this engine is, what it serves, and the key of its answers',
        ['400', '429'],
        { $ref: '#/components/schemas/Engine' },
      ),
    },
    '/engine/contracts/{contract}': contractDetails,
    '/health/live': engineOperation('getLiveness', 'Whether the process runs', []),
    '/health/ready': engineOperation('getReadiness', 'Whether the chain can be seen and the database can be written', [
      '503',
    ]),
    '/openapi': withEtag(engineOperation('getOpenApi', 'This document', ['429'])),
  },
  components: {
    schemas: { Problem: problemSchema, Engine: engineSchema, ContractDetails: detailsSchema },
    securitySchemes: {
      apiKey: { type: 'http', scheme: 'bearer', description: 'A key of integrations.authentication of the engine' },
    },
  },
}
