/** The OpenAPI document of each service: whole, valid by the rules of OpenAPI 3.1 that concern it, and true. */
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isObject } from '../../src/codec/json.ts'
import { eventTypes } from '../../src/event/event.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import {
  call,
  configuration,
  dataset,
  dcqlQuery,
  declare,
  GRANT,
  holderSigner,
  issueCredential,
  startIssuance,
  startVerification,
} from '../support/wire.ts'

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly Record<string, readonly string[]>[]
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: object }[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Record<string, { readonly schema: object; readonly example?: unknown }>
  }
  readonly responses: Record<
    string,
    { description: string; content?: Record<string, { readonly schema: object }>; headers?: Record<string, object> }
  >
}

interface Document {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly components: {
    readonly securitySchemes: Record<string, unknown>
    readonly schemas: Record<string, object>
  }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly webhooks: Record<string, { readonly post: Pick<Operation, 'requestBody'> }>
}

const KEY = [{ apiKey: [] }]
const TOKEN = [{ accessToken: [] }, { dpopAccessToken: [] }]
/** Every operation and its security; none for what anybody may call. */
const issuerOperations: Record<string, typeof KEY | [] | typeof TOKEN> = {
  'POST /credential-configuration/create': KEY,
  'GET /credential-configuration/{credential_configuration_id}': KEY,
  'POST /credential-configuration/remove/{credential_configuration_id}': KEY,
  'POST /issuance/oid4vci/new-session': KEY,
  'POST /issuance/oid4vci/complete/{session_id}': KEY,
  'GET /issuance/oid4vci/status/{session_id}': KEY,
  'GET /issuance/oid4vci/events/{session_id}': KEY,
  'GET /issuance/oid4vci/sessions': KEY,
  'GET /issuance/oid4vci/credential-offer/{session_id}': [],
  'GET /.well-known/openid-credential-issuer': [],
  'GET /.well-known/openid-credential-issuer/{session_id}': [],
  'GET /{session_id}/.well-known/openid-credential-issuer': [],
  'GET /.well-known/oauth-authorization-server': [],
  'GET /.well-known/oauth-authorization-server/{session_id}': [],
  'GET /{session_id}/.well-known/oauth-authorization-server': [],
  'GET /auth/.well-known/jwks': [],
  'POST /issuance/oid4vci/nonce': [],
  'POST /issuance/oid4vci/nonce/{session_id}': [],
  'POST /auth/challenge': [],
  'GET /auth/challenge': [],
  'POST /auth/par': [],
  'POST /auth/par/{session_id}': [],
  'GET /auth/authorize': [],
  'GET /auth/authorize/{session_id}': [],
  'GET /auth/return/{interaction_id}': [],
  'GET /auth/sign-in': [],
  'GET /auth/sign-in/start': [],
  'GET /auth/sign-in/stop': [],
  'GET /auth/sign-in/answer': [],
  'GET /auth/sign-in/presented': [],
  'GET /auth/interaction/{interaction_id}': KEY,
  'POST /auth/interaction/complete/{interaction_id}': KEY,
  'POST /auth/token-endpoint': [],
  'POST /auth/token-endpoint/{session_id}': [],
  'POST /issuance/oid4vci/credential-request': TOKEN,
  'POST /credential-status/revoke/{session_id}': KEY,
  'POST /credential-status/suspend/{session_id}': KEY,
  'POST /credential-status/reinstate/{session_id}': KEY,
  'GET /type-metadata/{name}': [],
  'GET /issuer-ca.crl': [],
  'GET /status-list/{list_id}': [],
  'GET /status-list/{list_id}/revocation': [],
  'GET /status-list/{list_id}/suspension': [],
  'POST /issuance/oid4vci/deferred-credential': TOKEN,
  'POST /issuance/oid4vci/draft15/deferred-credential': TOKEN,
  'POST /issuance/oid4vci/notification': TOKEN,
  'POST /issuance/oid4vci/notification/{session_id}': TOKEN,
  'GET /operations/overview': KEY,
  'GET /callbacks/waiting': KEY,
  'GET /callbacks/dead': KEY,
  'POST /callbacks/redeliver': KEY,
  'POST /callbacks/redeliver/{callback_id}': KEY,
  'GET /audit/records': KEY,
  'GET /audit/verification': KEY,
  'GET /openapi': [],
  'GET /health/live': [],
  'GET /health/ready': [],
}
const verifierOperations: typeof issuerOperations = {
  'POST /verification-query/create': KEY,
  'POST /dcql-query/create': KEY,
  'POST /verification-query/simulate': KEY,
  'GET /verification-query/{verification_query_id}': KEY,
  'POST /presentation/oid4vp/new-session': KEY,
  'GET /presentation/oid4vp/status/{session_id}': KEY,
  'GET /presentation/oid4vp/events/{session_id}': KEY,
  'GET /presentation/oid4vp/sessions': KEY,
  'POST /presentation/oid4vp/static-presentation': KEY,
  'GET /presentation/oid4vp/authorization-request/{session_id}': [],
  'POST /presentation/oid4vp/authorization-request/{session_id}': [],
  'POST /presentation/oid4vp/authorization-response/{session_id}': [],
  'POST /presentation/oid4vp/encrypted-authorization-response/{session_id}': [],
  'GET /presentation/oid4vp/digital-credentials/{session_id}': [],
  'POST /presentation/oid4vp/digital-credentials/{session_id}': [],
  'GET /trust-anchors': KEY,
  'POST /trust-anchors/test': KEY,
  'GET /operations/overview': KEY,
  'GET /callbacks/waiting': KEY,
  'GET /callbacks/dead': KEY,
  'POST /callbacks/redeliver': KEY,
  'POST /callbacks/redeliver/{callback_id}': KEY,
  'GET /audit/records': KEY,
  'GET /audit/verification': KEY,
  'GET /openapi': [],
  'GET /health/live': [],
  'GET /health/ready': [],
}

const ajv = new Ajv({ strict: false })

describe('the OpenAPI document', () => {
  let services: Services
  const documents = {} as Record<'issuer' | 'verifier', Document>
  beforeAll(async () => {
    services = await startServices()
    for (const service of ['issuer', 'verifier'] as const) {
      documents[service] = (await services[service].inject('/openapi')).json<Document>()
    }
  })
  afterAll(() => services.close())

  function operation(service: 'issuer' | 'verifier', name: string): Operation {
    const [method = '', path = ''] = name.split(' ')
    const found = documents[service].paths[path]?.[method.toLowerCase()]
    if (found === undefined) throw new Error(`${name} is not in the document`)
    return found
  }

  const bodySchema = (service: 'issuer' | 'verifier', name: string): object =>
    Object.values(operation(service, name).requestBody?.content ?? {})[0]?.schema ?? {}
  const accepts = (service: 'issuer' | 'verifier', name: string, body: unknown): boolean =>
    compiled(service, bodySchema(service, name))(body)

  /** With the components, which the schema refers to. */
  const compiled = (service: 'issuer' | 'verifier', schema: object) =>
    ajv.compile({ ...schema, components: documents[service].components })

  it.each([
    ['issuer', issuerOperations],
    ['verifier', verifierOperations],
  ] as const)('of the %s lists every operation with its security, and nothing else', (service, expected) => {
    const listed = Object.entries(documents[service].paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { security }]) => [`${method.toUpperCase()} ${path}`, security]),
    )
    expect(Object.fromEntries(listed)).toEqual(expected)
    expect(listed).toHaveLength(Object.keys(expected).length)
  })

  it.each(['issuer', 'verifier'] as const)('of the %s is well-formed OpenAPI 3.1', (service) => {
    const { openapi, info, components, paths } = documents[service]
    expect(openapi).toMatch(/^3\.1\.\d+$/)
    expect(info).toMatchObject({ title: expect.any(String) as string, version: expect.any(String) as string })
    expect(
      Object.keys(documents[service]).filter(
        (name) => !['openapi', 'info', 'components', 'paths', 'tags', 'webhooks'].includes(name),
      ),
    ).toEqual([])
    const tokens = service === 'issuer' ? ['accessToken', 'dpopAccessToken'] : []
    expect(Object.keys(components.securitySchemes)).toEqual(['apiKey', ...tokens])
    for (const scheme of Object.values(components.securitySchemes)) {
      expect(scheme).toMatchObject({ type: 'http', scheme: expect.stringMatching(/^(bearer|dpop)$/) as string })
    }
    for (const [path, operations] of Object.entries(paths)) {
      expect(path).toMatch(/^\//)
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      for (const [method, each] of Object.entries(operations)) {
        expect(['get', 'post']).toContain(method)
        expect(each.summary).toMatch(/^[A-Z]/)
        expect(each.operationId).toMatch(/^[a-z][A-Za-z0-9]+$/)
        expect(documents[service].tags.map(({ name }) => name)).toContain(each.tags[0])
        const parameters = (each.parameters ?? []).filter((parameter) => !['query', 'header'].includes(parameter.in))
        expect(parameters.map(({ name }) => name).sort()).toEqual([...names].sort())
        for (const parameter of parameters) expect(parameter).toMatchObject({ in: 'path', required: true })
        for (const requirement of each.security) {
          for (const name of Object.keys(requirement)) expect(components.securitySchemes).toHaveProperty(name)
        }
        expect(Object.keys(each.responses).length).toBeGreaterThan(0)
        for (const [status, response] of Object.entries(each.responses)) {
          expect(status).toMatch(/^[1-5]\d\d$/)
          expect(response.description).toMatch(/^[A-Za-z][^\n]+$/)
          expect(response.description).not.toBe('Default Response')
        }
      }
    }
  })

  it.each(['issuer', 'verifier'] as const)('of the %s has one enum for a choice of texts', (service) => {
    // Generators make a type of several for `anyOf`, and in Go one that cannot be compared with a text.
    const choices = JSON.stringify(documents[service]).match(/"anyOf":\[(\{"type":"string","enum":\["\w+"\]\},?)+\]/g)
    expect(choices).toBeNull()
    const session = service === 'issuer' ? 'IssuanceSession' : 'VerificationSession'
    expect(documents[service].components.schemas[session]).toMatchObject({
      properties: { status: { type: 'string', enum: expect.arrayContaining(['STARTED', 'EXPIRED']) as string[] } },
    })
  })

  it.each(['issuer', 'verifier'] as const)(
    'of the %s has only schemas that compile, and none that says nothing of its members',
    (service) => {
      const { schemas: named } = documents[service].components
      const schemas = [...schemasIn(documents[service].paths), ...Object.values(named)]
      expect(schemas.length).toBeGreaterThan(10)
      for (const schema of schemas) {
        expect(ajv.validateSchema(schema)).toBe(true)
        compiled(service, schema)
        expect(emptyIn(schema)).toEqual([])
        expect(JSON.stringify(schema)).not.toContain('"x-')
      }
    },
  )

  it.each(['issuer', 'verifier'] as const)('of the %s names each operation and each component once', (service) => {
    const { paths, components } = documents[service]
    const ids = Object.values(paths).flatMap((each) => Object.values(each).map(({ operationId }) => operationId))
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
    const text = JSON.stringify(documents[service])
    for (const name of Object.keys(components.schemas)) expect(text).toContain(`"#/components/schemas/${name}"`)
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      expect(components.schemas).toHaveProperty(name)
    }
  })

  it.each(['issuer', 'verifier'] as const)('of the %s has examples that its own schemas take', (service) => {
    const { schemas } = documents[service].components as { schemas: Record<string, { examples?: unknown[] }> }
    const examples = Object.values(schemas).flatMap((schema) =>
      (schema.examples ?? []).map((each) => ({ schema, each })),
    )
    const posted = Object.values(documents[service].paths)
      .flatMap((operations) => Object.values(operations))
      .flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}))
      .flatMap(({ schema, example }) => (example === undefined ? [] : [{ schema, each: example }]))
    expect(examples.length + posted.length).toBeGreaterThan(1)
    for (const { schema, each } of [...examples, ...posted]) {
      const validate = compiled(service, schema)
      expect([validate(each), validate.errors]).toEqual([true, null])
    }
  })

  it('says which headers responses have: where browsers go, how to authenticate, and when to come back', () => {
    const headersOf = (service: 'issuer' | 'verifier', name: string, status: number) =>
      Object.keys(operation(service, name).responses[status]?.headers ?? {})
    expect(headersOf('issuer', 'POST /issuance/oid4vci/credential-request', 401)).toEqual([
      'DPoP-Nonce',
      'WWW-Authenticate',
    ])
    expect(headersOf('issuer', 'POST /issuance/oid4vci/nonce', 200)).toEqual(['DPoP-Nonce'])
    expect(headersOf('issuer', 'POST /auth/challenge', 200)).toEqual(['DPoP-Nonce'])
    expect(headersOf('issuer', 'POST /auth/token-endpoint', 429)).toEqual([
      'DPoP-Nonce',
      'OAuth-Client-Attestation-Challenge',
      'Retry-After',
    ])
    expect(headersOf('issuer', 'GET /auth/authorize', 303)).toEqual(['Location'])
    expect(headersOf('issuer', 'GET /status-list/{list_id}', 200)).toEqual(['ETag'])
    expect(headersOf('issuer', 'GET /status-list/{list_id}', 304)).toEqual(['ETag'])
    expect(headersOf('verifier', 'GET /openapi', 304)).toEqual(['ETag'])
    expect(headersOf('verifier', 'GET /trust-anchors', 401)).toEqual(['WWW-Authenticate'])
    expect(headersOf('verifier', 'GET /trust-anchors', 200)).toEqual([])
  })

  it('takes what the services take', () => {
    const session = { credential_dataset: dataset, credential_configurations: ['a'], expires_in: 60 }
    const form = { grant_type: GRANT, 'pre-authorized_code': 'a', unknown: 'b' }
    const proof = { proof_type: 'jwt', jwt: 'a' }
    for (const [service, name, body] of [
      ['issuer', 'POST /credential-configuration/create', configuration],
      ['issuer', 'POST /issuance/oid4vci/new-session', session],
      ['issuer', 'POST /issuance/oid4vci/new-session', { credential_configurations: ['a'], deferred: true }],
      ['issuer', 'POST /issuance/oid4vci/complete/{session_id}', { denied: true, reason: 'a' }],
      ['issuer', 'POST /issuance/oid4vci/deferred-credential', { transaction_id: 'a', unknown: 1 }],
      ['issuer', 'POST /issuance/oid4vci/notification', { notification_id: 'a', event: 'credential_deleted', b: 1 }],
      ['issuer', 'POST /auth/token-endpoint', form],
      ['issuer', 'POST /auth/token-endpoint/{session_id}', form],
      ['issuer', 'POST /issuance/oid4vci/credential-request', { credential_configuration_id: 'a', proof, unknown: 1 }],
      ['verifier', 'POST /verification-query/create', { dcql_query: dcqlQuery }],
      ['verifier', 'POST /dcql-query/create', dcqlQuery],
      [
        'verifier',
        'POST /verification-query/simulate',
        { dcql_query: dcqlQuery, credentials: ['a', { format: 'vc+sd-jwt', claims: {}, type: ['A'] }] },
      ],
      ['verifier', 'POST /presentation/oid4vp/new-session', { verification_query_id: 'a' }],
      ['verifier', 'POST /presentation/oid4vp/authorization-response/{session_id}', { vp_token: '{}', state: 'a' }],
      [
        'verifier',
        'POST /presentation/oid4vp/digital-credentials/{session_id}',
        { protocol: 'openid4vp-v1-signed', data: { response: 'a' } },
      ],
    ] as const) {
      expect([name, accepts(service, name, body)]).toEqual([name, true])
    }
  })

  it('refuses what the services refuse', () => {
    for (const [service, name, body] of [
      ['issuer', 'POST /credential-configuration/create', { ...configuration, format: undefined }],
      ['issuer', 'POST /credential-configuration/create', { ...configuration, typo: 1 }],
      ['issuer', 'POST /issuance/oid4vci/new-session', { credential_dataset: dataset }],
      ['issuer', 'POST /issuance/oid4vci/new-session', { credential_dataset: dataset, credential_configurations: [] }],
      ['issuer', 'POST /issuance/oid4vci/complete/{session_id}', { denied: false }],
      ['issuer', 'POST /issuance/oid4vci/notification', { notification_id: 'a', event: 'credential_eaten' }],
      ['issuer', 'POST /auth/token-endpoint', { grant_type: ['a', 'b'] }],
      ['issuer', 'POST /issuance/oid4vci/credential-request', []],
      ['verifier', 'POST /verification-query/create', { dcql: {} }],
      ['verifier', 'POST /verification-query/simulate', { dcql_query: dcqlQuery, credentials: [] }],
      ['verifier', 'POST /verification-query/simulate', { dcql_query: dcqlQuery, credentials: [1] }],
      ['verifier', 'POST /presentation/oid4vp/new-session', {}],
    ] as const) {
      expect([name, accepts(service, name, JSON.parse(JSON.stringify(body)))]).toEqual([name, false])
    }
  })

  it('has each event of the callbacks as a webhook, whose body has the session as its status endpoint gives it', async () => {
    const posted = Object.entries(eventTypes).flatMap(([type, { isPosted }]) => (isPosted ? [type] : []))
    const ofVerifier = (type: string): boolean => type.startsWith('verification.')
    expect(Object.keys(documents.issuer.webhooks)).toEqual(posted.filter((type) => !ofVerifier(type)))
    expect(Object.keys(documents.verifier.webhooks)).toEqual(posted.filter(ofVerifier))
    const { sessionId } = await startIssuance(services)
    const verification = await startVerification(services)
    for (const [service, type, path] of [
      ['issuer', 'issuance.expired', `${ISSUER_URL}/issuance/oid4vci/status/${sessionId}`],
      ['verifier', 'verification.failed', `${VERIFIER_URL}/presentation/oid4vp/status/${verification.sessionId}`],
    ] as const) {
      const { schema = {} } = documents[service].webhooks[type]?.post.requestBody?.content['application/json'] ?? {}
      expect(schema).toEqual({ $ref: '#/components/schemas/CallbackEvent' })
      const validate = compiled(service, schema)
      const event = { id: 'a', type, timestamp: '2026-05-01T08:00:00.000Z' }
      expect([validate({ ...event, data: await (await call(services, path)).json() }), validate.errors]).toEqual([
        true,
        null,
      ])
      expect(validate({ ...event, data: { session_id: sessionId } })).toBe(false)
    }
  })

  it('says the media types that come back, and the shape of answers and refusals', async () => {
    const id = await declare(services)
    const { sessionId } = await startIssuance(services, { credential_configurations: [id] })
    const verification = await startVerification(services)
    await issueCredential(services, await holderSigner())
    const query = await call(services, `${VERIFIER_URL}/verification-query/create`, { dcql_query: dcqlQuery })
    const [issuer, verifier] = [ISSUER_URL, VERIFIER_URL]
    for (const [service, name, response] of [
      [
        'issuer',
        'POST /credential-configuration/create',
        await call(services, `${issuer}/credential-configuration/create`, configuration),
      ],
      [
        'issuer',
        'POST /credential-configuration/create',
        await call(services, `${issuer}/credential-configuration/create`, {}),
      ],
      [
        'issuer',
        'GET /credential-configuration/{credential_configuration_id}',
        await call(services, `${issuer}/credential-configuration/${id}`),
      ],
      [
        'issuer',
        'GET /issuance/oid4vci/status/{session_id}',
        await call(services, `${issuer}/issuance/oid4vci/status/${sessionId}`),
      ],
      [
        'issuer',
        'GET /issuance/oid4vci/status/{session_id}',
        await call(services, `${issuer}/issuance/oid4vci/status/a`),
      ],
      [
        'issuer',
        'GET /issuance/oid4vci/credential-offer/{session_id}',
        await services.fetch(`${issuer}/issuance/oid4vci/credential-offer/${sessionId}`),
      ],
      ['issuer', 'GET /auth/.well-known/jwks', await services.fetch(`${issuer}/auth/.well-known/jwks`)],
      [
        'issuer',
        'POST /issuance/oid4vci/nonce',
        await services.fetch(`${issuer}/issuance/oid4vci/nonce`, { method: 'POST' }),
      ],
      ['verifier', 'POST /verification-query/create', query],
      [
        'verifier',
        'POST /verification-query/simulate',
        await call(services, `${verifier}/verification-query/simulate`, {
          dcql_query: { ...dcqlQuery, credential_sets: [{ options: [['card']] }, { options: [['card']] }] },
          credentials: [
            { format: 'vc+sd-jwt', claims: {} },
            { format: 'vc+sd-jwt', claims: { credentialSubject: { given_name: 'Ada' } }, type: 'StudentCard' },
          ],
        }),
      ],
      [
        'verifier',
        'GET /presentation/oid4vp/status/{session_id}',
        await call(services, `${verifier}/presentation/oid4vp/status/${verification.sessionId}`),
      ],
      [
        'verifier',
        'GET /presentation/oid4vp/authorization-request/{session_id}',
        await services.fetch(verification.request.response_uri.replace('response', 'request')),
      ],
      [
        'verifier',
        'GET /presentation/oid4vp/authorization-request/{session_id}',
        await services.fetch(`${verifier}/presentation/oid4vp/authorization-request/a`),
      ],
    ] as const) {
      const { responses } = operation(service, name)
      const described = responses[response.status]
      const type = response.headers.get('content-type')?.split(';')[0] ?? ''
      expect([name, Object.keys(described?.content ?? {})]).toEqual([name, [type]])
      const text = await response.text()
      const value: unknown = type === 'application/json' ? JSON.parse(text) : text
      const validate = compiled(service, described?.content?.[type]?.schema ?? { not: {} })
      expect([name, validate(value), validate.errors]).toEqual([name, true, null])
    }
  })
})

/**
 * Objects that say nothing of their members, not even that they may be any: generators make types without members of
 * them.
 */
function emptyIn(value: unknown): object[] {
  if (Array.isArray(value)) return value.flatMap(emptyIn)
  if (!isObject(value)) return []
  const { properties, patternProperties, additionalProperties } = value
  const says =
    additionalProperties !== undefined ||
    Object.keys({ ...(properties as object), ...(patternProperties as object) }).length > 0
  const inside = Object.entries(value).flatMap(([name, member]) => (name === 'examples' ? [] : emptyIn(member)))
  return value.type === 'object' && !says ? [value, ...inside] : inside
}

/** Returns every value of a member named `schema`. */
function schemasIn(value: unknown): object[] {
  if (Array.isArray(value)) return value.flatMap(schemasIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'schema' && isObject(member) ? [member] : schemasIn(member),
  )
}
