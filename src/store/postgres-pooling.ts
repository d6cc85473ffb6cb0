/** Finds out whether a proxy in front of PostgreSQL gives connections to others between transactions. */

import { endsWithin } from '../async/timer.ts'
import { isUnreachable, type PostgresServer, type StatementRunner, withConnection } from './postgres-connections.ts'

/** The time for the second connection. */
const TRIAL_MS = 10_000
const PROBLEM =
  'a proxy in front of the server gives its connections to others after each transaction, so that the schema and the time limits of this service are lost or become those of others; let it keep them (pool_mode = session of PgBouncer)'

/**
 * Returns why a service cannot work behind its proxy, as a sentence; undefined if it can, or if there is no second
 * connection to tell by. Such a proxy leads a second connection to the process of the server that `run` just used, or
 * `run` to another one. Rejects when the server refuses the second connection for good, as it would those of a service.
 */
export async function findPoolingProblem(run: StatementRunner, server: PostgresServer): Promise<string | undefined> {
  const backend = await readBackend(run)
  const trial = withConnection(server, async (runOther) => {
    await runOther({ text: 'begin', values: [] })
    return (await readBackend(runOther)) === backend || (await readBackend(run)) !== backend
  }).catch((error: unknown) => {
    // A server that has no second connection at present says nothing of a proxy.
    if (isUnreachable(error)) return false
    throw error
  })
  // A proxy that keeps connections, and has no other one left, lets the second wait.
  const isShared = (await endsWithin(trial, TRIAL_MS)) && (await trial)
  return isShared ? PROBLEM : undefined
}

/** Returns the number of the process of the server that serves a connection, of which a setting was set. */
async function readBackend(run: StatementRunner): Promise<unknown> {
  // Some proxies let a client keep its connection from then on, and each connection of a service has such settings.
  await run({ text: 'set statement_timeout to default', values: [] })
  const [row = {}] = (await run({ text: 'select pg_backend_pid() as pid', values: [] })).rows
  return row.pid
}
