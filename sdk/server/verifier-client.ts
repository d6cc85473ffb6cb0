/** The client of a verification service, for the application that asks wallets for credentials. */
import { createCallService, endpointsOf, type ServiceOptions, startOnce } from './call-service.ts'
import { listPages } from './list-pages.ts'
import { type OperatorClient, operatorClient } from './operator-client.ts'
import type { VerifierSchemas } from './verifier-schemas.ts'
import { type WaitOptions, waitForEnd } from './wait-for-end.ts'
import { createWatchSession, type WatchOptions, type WatchSession } from './watch-session.ts'

type Query = VerifierSchemas['DcqlQuery']
type Session = VerifierSchemas['VerificationSession']

type ListedSession = VerifierSchemas['ListedVerificationSession']
type NewSession = VerifierSchemas['NewVerificationSession']
type StartedSession = VerifierSchemas['StartedVerificationSession']

/** A session that has started, with its link. */
export type StartedSessionWithLink = StartedSession & { readonly request_uri: string }

/** The sessions to list; all when empty. */
export interface VerificationSessionFilter {
  readonly status?: ListedSession['status']
  readonly verification_query_id?: string
}

/** The code that a browser brought back from the wallet, by which the result of its session can be read. */
export interface ResultOptions {
  /** The parameter `response_code` of the `redirect_uri`; null counts as absent, as `URLSearchParams` gives it. */
  readonly responseCode?: string | null | undefined
}

/** The administrative endpoints of a verification service. Every function rejects with a `ServiceError`. */
export interface VerifierClient extends OperatorClient {
  /** Reads whether the service is well, and its sessions of the last 24 hours in numbers. */
  getOverview(): Promise<VerifierSchemas['VerifierOverview']>
  /** Stores a query; resolves with its id. A call that fails may have stored it all the same. */
  createQuery(query: Query): Promise<string>
  getQuery(id: string): Promise<Query>
  /** Says which of the credentials would answer the query, before anybody is asked. */
  simulate(simulation: VerifierSchemas['Simulation']): Promise<VerifierSchemas['SimulationResult']>
  /**
   * Starts a session. A lost answer starts no second session: each call has an `Idempotency-Key`. Give one of your own
   * to make a call of another process the same call.
   */
  startSession(
    session: NewSession & { readonly link?: true },
    options?: { readonly idempotencyKey?: string },
  ): Promise<StartedSessionWithLink>
  /** Starts a session that has no link, if `link` is false. */
  startSession(session: NewSession, options?: { readonly idempotencyKey?: string }): Promise<StartedSession>
  /** Reads the session, with its report once a wallet has answered. */
  getSession(sessionId: string, options?: ResultOptions): Promise<Session>
  /** Yields the sessions, the newest first; end the loop when you have seen enough. */
  listSessions(filter?: VerificationSessionFilter): AsyncGenerator<ListedSession, void>
  /** Waits until a wallet has answered, or the session has expired. */
  waitForSession(sessionId: string, options?: WaitOptions & ResultOptions): Promise<Session>
  /** Yields the session as it is, and each change of it as it comes, until a wallet has answered or it has expired. */
  watchSession(sessionId: string, options?: WatchOptions & ResultOptions): AsyncGenerator<Session, void>
  /** Verifies a presentation that the application holds already, without a session. */
  verifyPresentation(
    presentation: VerifierSchemas['StaticPresentation'],
  ): Promise<VerifierSchemas['VerificationResult']>
  listTrustAnchors(): Promise<VerifierSchemas['TrustAnchorList']>
  /** Says whether a certificate (PEM, with those that signed it) would be trusted as an issuer, and why not. */
  testChain(certificates: string): Promise<VerifierSchemas['ChainTestResult']>
}

/** Makes the client of the verification service at `url`. */
export function createVerifierClient(options: ServiceOptions): VerifierClient {
  const call = createCallService(options)
  const watch = createWatchSession<Session>(options, '/presentation/oid4vp/events/')
  const { get, post, postOnce } = endpointsOf(call)
  const getSession = async (id: string, { responseCode }: ResultOptions = {}, signal?: AbortSignal) => {
    const query = typeof responseCode !== 'string' ? '' : `?response_code=${encodeURIComponent(responseCode)}`
    return (await get(`/presentation/oid4vp/status/${encodeURIComponent(id)}${query}`, signal)) as Session
  }
  return {
    ...operatorClient(call),
    getOverview: async () => (await get('/operations/overview')) as VerifierSchemas['VerifierOverview'],
    createQuery: async (query) =>
      (await postOnce('/verification-query/create', { dcql_query: query }, { answersText: true })) as string,
    getQuery: async (id) => {
      const path = `/verification-query/${encodeURIComponent(id)}`
      return ((await get(path)) as VerifierSchemas['VerificationQuery']).dcql_query
    },
    simulate: async (body) => (await post('/verification-query/simulate', body)) as VerifierSchemas['SimulationResult'],
    startSession: async (body, { idempotencyKey } = {}) => {
      const path = '/presentation/oid4vp/new-session'
      return (await startOnce(call, path, body, idempotencyKey)) as StartedSessionWithLink
    },
    getSession: (id, options) => getSession(id, options),
    listSessions: (filter = {}) => listPages(call, '/presentation/oid4vp/sessions', 'sessions', { ...filter }),
    waitForSession: (id, waiting = {}) => waitForEnd((signal) => getSession(id, waiting, signal), isOver, waiting),
    watchSession: withResult(watch, getSession),
    verifyPresentation: async (body) =>
      (await post('/presentation/oid4vp/static-presentation', body)) as VerifierSchemas['VerificationResult'],
    listTrustAnchors: async () => (await get('/trust-anchors')) as VerifierSchemas['TrustAnchorList'],
    testChain: async (certificates) =>
      (await post('/trust-anchors/test', { certificates })) as VerifierSchemas['ChainTestResult'],
  }
}

function isOver({ status }: Session): boolean {
  return status !== 'STARTED'
}

/** Adds the result that only a response code opens, which no stream has. */
function withResult(
  watch: WatchSession<Session>,
  getSession: VerifierClient['getSession'],
): VerifierClient['watchSession'] {
  return async function* (id, { responseCode, ...watching } = {}) {
    for await (const session of watch(id, watching)) {
      const hasCode = typeof responseCode === 'string' && session.status !== 'STARTED'
      yield hasCode ? await getSession(id, { responseCode }) : session
    }
  }
}
