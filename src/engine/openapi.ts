/** `GET /openapi`: what there is to call. What a component takes and gives is its own, and is not described here. */
import { type ProblemCode, problems } from './problem.ts'

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

const refusals = Object.fromEntries(
  [...new Set(Object.values(problems).map(({ status }) => status))].map((status) => [
    String(status),
    {
      description: codesOf(status).join(', '),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ]),
)

function codesOf(status: number): string[] {
  return (Object.keys(problems) as ProblemCode[]).filter((code) => problems[code].status === status)
}

const component = (method: string) => ({
  operationId: `${method}FromComponent`,
  tags: ['component'],
  summary: 'Asks the off-chain component of a contract',
  security: [],
  responses: { ...refusals, default: { description: 'Whatever the component answers' } },
})

const own = (operationId: string, summary: string) => ({
  get: {
    operationId,
    tags: ['operation'],
    summary,
    security: [],
    responses: {
      '200': {
        description: 'The answer',
        content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
      },
      '429': refusals['429'],
    },
  },
})

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
        {
          name: 'contract',
          in: 'path',
          required: true,
          schema: { type: 'string', pattern: '^(0x)?([0-9a-fA-F]{40}|[0-9a-fA-F]{42})$' },
        },
        {
          name: 'path',
          in: 'path',
          required: true,
          schema: { type: 'string' },
          description: 'With slashes and a query, as it is',
        },
      ],
      ...Object.fromEntries(['get', 'put', 'post', 'patch', 'delete'].map((method) => [method, component(method)])),
    },
    '/engine': own('getEngine', 'Who this engine is, what it serves, and the key of its answers'),
    '/health/live': own('getLiveness', 'Whether the process runs'),
    '/health/ready': own('getReadiness', 'Whether the chain can be seen and the database can be written'),
    '/openapi': own('getOpenApi', 'This document'),
  },
  components: { schemas: { Problem: problemSchema } },
}
