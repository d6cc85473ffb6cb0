/**
 * The lock of a process on a schema of a PostgreSQL server: a transaction-level advisory lock, held by an open
 * transaction on a connection of its own. A pooler in transaction mode keeps the connection for the transaction. The
 * transaction holds no snapshot, so it does not prevent the server from removing old rows.
 */
import { setTimeout } from 'node:timers/promises'
import { type PostgresServer, type StatementRunner, withConnection } from './postgres-connections.ts'
import type { ProcessLock } from './store.ts'

/**
 * The first key of the advisory lock: an arbitrary number that no other program uses. The second key is a hash of the
 * schema.
 */
export const PROCESS_LOCK = 0x766f7564
/** The expression of the second key; `$2` is the name of the schema, which does not exist before the first start. */
export const SCHEMA_HASH = 'hashtext(coalesce(current_schema(), $2))'
/** The time to wait for another process to release the lock. */
const PATIENCE_MS = 5000
const PAUSE_MS = 250
/** The time limit for the answer to a query; a connection that does not answer in time counts as lost. */
const ANSWER_MS = 10_000
/**
 * Sets the options of the transaction: no time limit ends it, and TCP keepalives let the server notice within a minute
 * that the machine of the process is gone.
 */
const SETTINGS = `select set_config(name, value, true) from pg_settings join (values
  ('idle_in_transaction_session_timeout', '0'), ('transaction_timeout', '0'),
  ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')
) as wanted (name, value) using (name)`

/** Takes the lock. Waits for another process that has it, and returns undefined after {@link PATIENCE_MS}. */
export async function lockPostgres(server: PostgresServer): Promise<ProcessLock | undefined> {
  let heldLock = await holdLock(server)
  if (heldLock === undefined) return undefined
  let lostBackend: string | undefined
  return {
    keep: async () => {
      if (await heldLock?.isAlive()) return true
      // The server may not have noticed yet that the connection was lost, and may still hold its lock.
      void heldLock?.release()
      lostBackend = heldLock?.backend ?? lostBackend
      heldLock = await holdLock(server, lostBackend)
      return heldLock !== undefined
    },
    release: async () => heldLock?.release(),
  }
}

/** A transaction that has the lock. */
interface HeldLock {
  /** The server's process for the connection, and its start: a text that no other process of the server has. */
  readonly backend: string
  isAlive(): Promise<boolean>
  /** Ends the transaction, and resolves when its connection is closed. */
  release(): Promise<void>
}

const BACKEND = `concat_ws(' ', pid, backend_start)`
const OWN_BACKEND = `select ${BACKEND} as backend from pg_stat_activity where pid = pg_backend_pid()`
/** Ends a process of the server, which its user may do. */
const END_BACKEND = `select pg_terminate_backend(pid) from pg_stat_activity where ${BACKEND} = $1`

/**
 * Opens a connection and a transaction, and takes the lock in it. Resolves to undefined when another process has the
 * lock. `lostBackend` is of a connection that was lost, whose lock the server may still hold.
 */
function holdLock(server: PostgresServer, lostBackend?: string): Promise<HeldLock | undefined> {
  return new Promise((resolve, reject) => {
    let end = (): void => undefined
    const untilReleased = new Promise<void>((resolveRelease) => {
      end = resolveRelease
    })
    const hold = async (run: StatementRunner): Promise<void> => {
      await run({ text: 'begin isolation level read committed', values: [] })
      await run({ text: SETTINGS, values: [] })
      const backend = String((await run({ text: OWN_BACKEND, values: [] })).rows[0]?.backend)
      if (lostBackend !== undefined) await run({ text: END_BACKEND, values: [lostBackend] })
      if (!(await takeLock(run, server))) {
        resolve(undefined)
        return
      }
      const ask = () => run({ text: 'select 1', values: [] }).then(() => true)
      resolve({
        backend,
        isAlive: () => Promise.race([ask(), setTimeout(ANSWER_MS, false, { ref: false })]).catch(() => false),
        release: () => {
          end()
          return connection
        },
      })
      await untilReleased
    }
    const connection = withConnection(server, hold, ANSWER_MS)
    connection.catch(reject)
  })
}

async function takeLock(run: StatementRunner, { schema = '' }: PostgresServer): Promise<boolean> {
  const text = `select pg_try_advisory_xact_lock($1, ${SCHEMA_HASH}) as taken`
  for (const until = performance.now() + PATIENCE_MS; ; ) {
    const { rows } = await run({ text, values: [PROCESS_LOCK, schema] })
    if (rows[0]?.taken === true) return true
    if (performance.now() >= until) return false
    await setTimeout(PAUSE_MS)
  }
}
