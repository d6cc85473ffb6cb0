/** The client of an issuance service, for the application that has credentials issued. */
import { createCallService, type Endpoints, endpointsOf, type ServiceOptions, startOnce } from './call-service.ts'
import type { IssuerSchemas } from './issuer-schemas.ts'
import { listPages } from './list-pages.ts'
import { type OperatorClient, operatorClient } from './operator-client.ts'
import { type WaitOptions, waitForEnd } from './wait-for-end.ts'
import { createWatchSession, type WatchOptions } from './watch-session.ts'

type Configuration = IssuerSchemas['CredentialConfiguration']
type Session = IssuerSchemas['IssuanceSession']
type ListedSession = IssuerSchemas['ListedIssuanceSession']
type CredentialStatusChange = IssuerSchemas['ChangedCredentialStatus']

/** The sessions to list; all when empty. */
export interface IssuanceSessionFilter {
  readonly status?: ListedSession['status']
  readonly credential_configuration_id?: string
}

/** The administrative endpoints of an issuance service. Every function rejects with a `ServiceError`. */
export interface IssuerClient extends OperatorClient {
  /** Reads whether the service is well, and its sessions of the last 24 hours in numbers. */
  getOverview(): Promise<IssuerSchemas['IssuerOverview']>
  /** Stores a credential configuration; resolves with its id. A call that fails may have stored it all the same. */
  createConfiguration(configuration: Configuration): Promise<string>
  getConfiguration(id: string): Promise<Configuration>
  /** Removes a credential configuration; sessions that have started keep it. */
  removeConfiguration(id: string): Promise<void>
  /**
   * Starts a session. A lost answer starts no second session: each call has an `Idempotency-Key`. Give one of your own
   * to make a call of another process the same call.
   */
  startSession(
    session: IssuerSchemas['NewIssuanceSession'],
    options?: { readonly idempotencyKey?: string },
  ): Promise<IssuerSchemas['StartedIssuanceSession']>
  /** Gives a deferred session its dataset, or denies it. */
  completeSession(sessionId: string, completion: IssuerSchemas['Completion']): Promise<Session>
  /** Says what a wallet asks for, whose person the browser has brought with the parameter `interaction`. */
  getInteraction(id: string): Promise<IssuerSchemas['Interaction']>
  /** Decides on the interaction; send the browser to the `redirect_uri` of the answer. */
  completeInteraction(
    id: string,
    completion: IssuerSchemas['InteractionCompletion'],
  ): Promise<IssuerSchemas['CompletedInteraction']>
  getSession(sessionId: string): Promise<Session>
  /** Yields the sessions, the newest first; end the loop when you have seen enough. */
  listSessions(filter?: IssuanceSessionFilter): AsyncGenerator<ListedSession, void>
  /** Waits until the session has issued a credential or has expired. */
  waitForSession(sessionId: string, options?: WaitOptions): Promise<Session>
  /**
   * Yields the session as it is, and each change of it as it comes, until it has expired; leave the loop when you have
   * seen enough. Notifications of the wallet and a revocation may follow `SUCCEEDED`.
   */
  watchSession(sessionId: string, options?: WatchOptions): AsyncGenerator<Session, void>
  /** Revokes every credential of the session, for good. */
  revoke(sessionId: string): Promise<CredentialStatusChange>
  suspend(sessionId: string): Promise<CredentialStatusChange>
  /** Ends a suspension; what is revoked stays so. */
  reinstate(sessionId: string): Promise<CredentialStatusChange>
}

/** Makes the client of the issuance service at `url`. */
export function createIssuerClient(options: ServiceOptions): IssuerClient {
  const call = createCallService(options)
  const endpoints = endpointsOf(call)
  const { get, post, postOnce } = endpoints
  const getSession = async (id: string, signal?: AbortSignal) =>
    (await get(`/issuance/oid4vci/status/${encodeURIComponent(id)}`, signal)) as Session
  const changeStatus = async (change: string, id: string) =>
    (await post(`/credential-status/${change}/${encodeURIComponent(id)}`)) as CredentialStatusChange
  return {
    ...operatorClient(call),
    ...interactions(endpoints),
    getOverview: async () => (await get('/operations/overview')) as IssuerSchemas['IssuerOverview'],
    createConfiguration: async (body) =>
      (await postOnce('/credential-configuration/create', body, { answersText: true })) as string,
    getConfiguration: async (id) => (await get(`/credential-configuration/${encodeURIComponent(id)}`)) as Configuration,
    removeConfiguration: async (id) => {
      await postOnce(`/credential-configuration/remove/${encodeURIComponent(id)}`)
    },
    startSession: async (body, { idempotencyKey } = {}) => {
      const path = '/issuance/oid4vci/new-session'
      return (await startOnce(call, path, body, idempotencyKey)) as IssuerSchemas['StartedIssuanceSession']
    },
    completeSession: async (id, body) =>
      (await postOnce(`/issuance/oid4vci/complete/${encodeURIComponent(id)}`, body)) as Session,
    getSession: (id) => getSession(id),
    listSessions: (filter = {}) => listPages(call, '/issuance/oid4vci/sessions', 'sessions', { ...filter }),
    waitForSession: (id, waiting = {}) => waitForEnd((signal) => getSession(id, signal), hasEnded, waiting),
    watchSession: createWatchSession<Session>(options, '/issuance/oid4vci/events/'),
    revoke: (id) => changeStatus('revoke', id),
    suspend: (id) => changeStatus('suspend', id),
    reinstate: (id) => changeStatus('reinstate', id),
  }
}

function hasEnded({ status }: Session): boolean {
  return status !== 'STARTED'
}

/** Returns the endpoints for a person whom a browser has brought from a wallet. */
function interactions({ get, postOnce }: Endpoints): Pick<IssuerClient, 'getInteraction' | 'completeInteraction'> {
  return {
    getInteraction: async (id) =>
      (await get(`/auth/interaction/${encodeURIComponent(id)}`)) as IssuerSchemas['Interaction'],
    completeInteraction: async (id, body) => {
      const path = `/auth/interaction/complete/${encodeURIComponent(id)}`
      return (await postOnce(path, body)) as IssuerSchemas['CompletedInteraction']
    },
  }
}
