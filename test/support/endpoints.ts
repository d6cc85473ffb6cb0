/** Every endpoint of both services, and requests to each of them. Interface section 2. */
import { afterAll, beforeAll, expect } from 'vitest'
import { startPageSession } from './digital-credentials.ts'
import { mdocQuery } from './mdoc.ts'
import { API_KEY, type Services, startServices } from './services.ts'
import { startIssuance, startVerification } from './wire.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS'

export interface Endpoint {
  readonly service: 'issuer' | 'verifier'
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The media type of its body, where it takes one. */
  readonly body?: 'application/json' | 'application/x-www-form-urlencoded'
  readonly wallet?: true
  /** Tells endpoints to which a person's browser goes, and no script. */
  readonly browser?: true
  /** Tells endpoints of one page, whose scripts alone may read the answers. */
  readonly page?: true
  /** The code for a request that cannot be read. */
  readonly malformed?: string
}

/** Every endpoint; SESSION stands for a session of the service, and ID for anything else. */
export const endpoints: readonly Endpoint[] = [
  ...(['issuer', 'verifier'] as const).flatMap((service): Endpoint[] => [
    { service, method: 'GET', path: '/operations/overview' },
    { service, method: 'GET', path: '/callbacks/waiting' },
    { service, method: 'GET', path: '/callbacks/dead' },
    { service, method: 'POST', path: '/callbacks/redeliver', body: 'application/json' },
    { service, method: 'POST', path: '/callbacks/redeliver/ID' },
    { service, method: 'GET', path: '/audit/records' },
    { service, method: 'GET', path: '/audit/verification' },
  ]),
  { service: 'issuer', method: 'POST', path: '/credential-configuration/create', body: 'application/json' },
  { service: 'issuer', method: 'GET', path: '/credential-configuration/ID' },
  { service: 'issuer', method: 'POST', path: '/credential-configuration/remove/ID' },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/new-session', body: 'application/json' },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/complete/SESSION', body: 'application/json' },
  { service: 'issuer', method: 'GET', path: '/issuance/oid4vci/status/SESSION' },
  // The stream of a session that is there has no end: status-events.test.ts.
  { service: 'issuer', method: 'GET', path: '/issuance/oid4vci/events/ID' },
  { service: 'issuer', method: 'GET', path: '/issuance/oid4vci/sessions' },
  { service: 'issuer', method: 'POST', path: '/credential-status/revoke/SESSION' },
  { service: 'issuer', method: 'POST', path: '/credential-status/suspend/SESSION' },
  { service: 'issuer', method: 'POST', path: '/credential-status/reinstate/SESSION' },
  { service: 'issuer', method: 'GET', path: '/issuance/oid4vci/credential-offer/SESSION', wallet: true },
  { service: 'issuer', method: 'GET', path: '/.well-known/openid-credential-issuer', wallet: true },
  { service: 'issuer', method: 'GET', path: '/.well-known/openid-credential-issuer/SESSION', wallet: true },
  { service: 'issuer', method: 'GET', path: '/SESSION/.well-known/openid-credential-issuer', wallet: true },
  { service: 'issuer', method: 'GET', path: '/.well-known/oauth-authorization-server', wallet: true },
  { service: 'issuer', method: 'GET', path: '/.well-known/oauth-authorization-server/SESSION', wallet: true },
  { service: 'issuer', method: 'GET', path: '/SESSION/.well-known/oauth-authorization-server', wallet: true },
  { service: 'issuer', method: 'GET', path: '/auth/.well-known/jwks', wallet: true },
  { service: 'issuer', method: 'POST', path: '/auth/challenge', wallet: true },
  { service: 'issuer', method: 'GET', path: '/auth/challenge', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/nonce', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/nonce/SESSION', wallet: true },
  ...['/auth/par', '/auth/par/SESSION'].map((path): Endpoint => {
    const body = 'application/x-www-form-urlencoded'
    return { service: 'issuer', method: 'POST', path, body, wallet: true, malformed: 'invalid_request' }
  }),
  { service: 'issuer', method: 'GET', path: '/auth/authorize', browser: true },
  { service: 'issuer', method: 'GET', path: '/auth/authorize/SESSION', browser: true },
  { service: 'issuer', method: 'GET', path: '/auth/return/ID', browser: true },
  ...['', '/start', '/answer', '/stop', '/presented'].map(
    (step): Endpoint => ({ service: 'issuer', method: 'GET', path: `/auth/sign-in${step}`, browser: true }),
  ),
  { service: 'issuer', method: 'GET', path: '/auth/interaction/ID' },
  { service: 'issuer', method: 'POST', path: '/auth/interaction/complete/ID', body: 'application/json' },
  {
    service: 'issuer',
    method: 'POST',
    path: '/auth/token-endpoint',
    body: 'application/x-www-form-urlencoded',
    wallet: true,
    malformed: 'invalid_request',
  },
  {
    service: 'issuer',
    method: 'POST',
    path: '/auth/token-endpoint/SESSION',
    body: 'application/x-www-form-urlencoded',
    wallet: true,
    malformed: 'invalid_request',
  },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/credential-request', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/deferred-credential', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/draft15/deferred-credential', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/notification', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/notification/SESSION', wallet: true },
  { service: 'issuer', method: 'GET', path: '/type-metadata/ID', wallet: true },
  { service: 'issuer', method: 'GET', path: '/issuer-ca.crl', wallet: true },
  { service: 'issuer', method: 'GET', path: '/status-list/ID', wallet: true },
  { service: 'issuer', method: 'GET', path: '/status-list/ID/revocation', wallet: true },
  { service: 'issuer', method: 'GET', path: '/status-list/ID/suspension', wallet: true },
  { service: 'verifier', method: 'POST', path: '/verification-query/create', body: 'application/json' },
  { service: 'verifier', method: 'POST', path: '/dcql-query/create', body: 'application/json' },
  { service: 'verifier', method: 'POST', path: '/verification-query/simulate', body: 'application/json' },
  { service: 'verifier', method: 'GET', path: '/verification-query/ID' },
  { service: 'verifier', method: 'GET', path: '/trust-anchors' },
  { service: 'verifier', method: 'POST', path: '/trust-anchors/test', body: 'application/json' },
  { service: 'verifier', method: 'POST', path: '/presentation/oid4vp/new-session', body: 'application/json' },
  {
    service: 'verifier',
    method: 'POST',
    path: '/presentation/oid4vp/static-presentation',
    body: 'application/json',
  },
  { service: 'verifier', method: 'GET', path: '/presentation/oid4vp/status/SESSION' },
  { service: 'verifier', method: 'GET', path: '/presentation/oid4vp/events/ID' },
  { service: 'verifier', method: 'GET', path: '/presentation/oid4vp/sessions' },
  { service: 'verifier', method: 'GET', path: '/presentation/oid4vp/authorization-request/SESSION', wallet: true },
  {
    service: 'verifier',
    method: 'POST',
    path: '/presentation/oid4vp/authorization-response/SESSION',
    body: 'application/x-www-form-urlencoded',
    wallet: true,
    malformed: 'invalid_request',
  },
  {
    service: 'verifier',
    method: 'POST',
    path: '/presentation/oid4vp/encrypted-authorization-response/SESSION',
    body: 'application/x-www-form-urlencoded',
    wallet: true,
    malformed: 'invalid_request',
  },
  {
    service: 'verifier',
    method: 'GET',
    path: '/presentation/oid4vp/digital-credentials/SESSION',
    wallet: true,
    page: true,
  },
  {
    service: 'verifier',
    method: 'POST',
    path: '/presentation/oid4vp/digital-credentials/SESSION',
    body: 'application/json',
    wallet: true,
    page: true,
    malformed: 'invalid_request',
  },
  {
    service: 'verifier',
    method: 'POST',
    path: '/presentation/oid4vp/authorization-request/SESSION',
    body: 'application/x-www-form-urlencoded',
    wallet: true,
    malformed: 'invalid_request',
  },
]

type Answer = Awaited<ReturnType<Services['issuer']['inject']>>

/** The services of a block of tests, and requests to their endpoints. */
interface EndpointServices {
  readonly services: () => Services
  /** Sends a request, with a session of the service in the place of SESSION. */
  readonly send: (
    endpoint: Pick<Endpoint, 'service' | 'path'>,
    method: Method,
    headers?: Record<string, string>,
    payload?: string | Buffer,
  ) => Promise<Answer>
  /** Expects that no line of the log so far has the API key or the id of a session. */
  readonly expectNoSecretLogged: () => void
}

/** Starts services with a session each before the tests of a block, and closes them afterwards. */
export function startEndpoints(): EndpointServices {
  let services: Services
  const sessions = { issuer: '', verifier: '', encrypted: '', page: '' }
  beforeAll(async () => {
    services = await startServices()
    sessions.issuer = (await startIssuance(services)).sessionId
    sessions.verifier = (await startVerification(services)).sessionId
    sessions.encrypted = (await startVerification(services, mdocQuery)).sessionId
    sessions.page = (await startPageSession(services)).session_id
  })
  afterAll(() => services.close())
  return {
    services: () => services,
    send: ({ service, path }, method, headers = {}, payload) =>
      services[service].inject({
        method,
        url: path.replace('SESSION', sessions[sessionFor(path) ?? service]),
        headers,
        ...(payload === undefined ? {} : { payload }),
      }),
    expectNoSecretLogged() {
      const log = services.logLines.join('')
      expect(log).not.toContain(API_KEY)
      expect(log).not.toContain(sessions.issuer)
    },
  }
}

/** Returns which session an endpoint needs, if it is not the usual one of its service. */
function sessionFor(path: string): 'encrypted' | 'page' | undefined {
  if (path.includes('/encrypted-')) return 'encrypted'
  return path.includes('/digital-credentials/') ? 'page' : undefined
}

/** Expects a refusal as every endpoint makes one. RFC 6749 section 5.2. */
export function expectError(answer: Answer, status: number, error: string): void {
  expect([answer.statusCode, answer.body]).toEqual([status, expect.stringContaining(`{"error":"${error}",`)])
  const body = answer.json<Record<string, unknown>>()
  expect(Object.keys(body)).toEqual(['error', 'error_description'])
  expect(body.error_description).toMatch(/^[A-Za-z][ !#-[\]-~]+$/)
  expect(answer.headers['content-type']).toMatch(/^application\/json\b/)
  expectHeaders(answer)
}

/** Expects the headers that every answer has. */
export function expectHeaders({ headers }: Answer): void {
  expect(headers['x-content-type-options']).toBe('nosniff')
  expect(headers['x-request-id']).toMatch(/^[\w-]{16}$/)
  expect(headers['cache-control']).toMatch(/^(no-store|no-cache|max-age=300)$/)
  expect(headers['x-powered-by'] ?? headers.server).toBe(undefined)
}
