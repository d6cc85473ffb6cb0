/** The endpoints for whoever operates a service, which issuer and verifier share. */
import { type CallService, endpointsOf } from './call-service.ts'
import type { IssuerSchemas } from './issuer-schemas.ts'
import { listPages } from './list-pages.ts'

/** The callbacks and the audit log of a service. Every function rejects with a `ServiceError`. */
export interface OperatorClient {
  /** Yields the sessions whose events wait for delivery, the newest first. */
  listWaitingCallbacks(): AsyncGenerator<IssuerSchemas['WaitingCallback'], void>
  /** Yields the events that were given up, the newest first. */
  listDeadCallbacks(): AsyncGenerator<IssuerSchemas['DeadCallback'], void>
  /** Delivers an event again that was given up. */
  redeliverCallback(callbackId: string): Promise<void>
  /** Delivers every event again that was given up before the call; resolves with how many these were. */
  redeliverDeadCallbacks(): Promise<number>
  /** Reads a page of the audit log, newest record first; the first page has the head of the log and its signature. */
  readAuditRecords(page?: {
    readonly cursor?: string
    readonly limit?: number
  }): Promise<IssuerSchemas['AuditRecordPage']>
  /**
   * Verifies the audit log in the database, since its last checkpoint or from its start, and yields the result of each
   * stretch.
   */
  verifyAuditLog(from?: 'checkpoint' | 'start'): AsyncGenerator<IssuerSchemas['AuditVerification'], void>
}

export function operatorClient(call: CallService): OperatorClient {
  const { get, postOnce } = endpointsOf(call)
  return {
    listWaitingCallbacks: () => listPages(call, '/callbacks/waiting', 'callbacks'),
    listDeadCallbacks: () => listPages(call, '/callbacks/dead', 'callbacks'),
    redeliverCallback: async (id) => {
      await postOnce(`/callbacks/redeliver/${encodeURIComponent(id)}`)
    },
    redeliverDeadCallbacks: async () => {
      let count = 0
      for (let body: IssuerSchemas['Redelivery'] = {}; ; ) {
        const result = (await postOnce('/callbacks/redeliver', body)) as IssuerSchemas['RedeliveryResult']
        count += result.redelivered
        if (!result.has_more) return count
        body = { died_until: result.died_until }
      }
    },
    readAuditRecords: async ({ cursor, limit } = {}) => {
      const query = new URLSearchParams()
      if (cursor !== undefined) query.set('cursor', cursor)
      if (limit !== undefined) query.set('limit', String(limit))
      return (await get(`/audit/records?${query.toString()}`)) as IssuerSchemas['AuditRecordPage']
    },
    verifyAuditLog: async function* (from = 'checkpoint') {
      const query = new URLSearchParams({ from })
      for (;;) {
        const path = `/audit/verification?${query.toString()}`
        const stretch = (await get(path)) as IssuerSchemas['AuditVerification']
        yield stretch
        if (stretch.next === undefined) return
        query.set('cursor', stretch.next)
      }
    },
  }
}
