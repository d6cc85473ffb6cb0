/**
 * The connections to a PostgreSQL server: a pool that survives restarts of the server. Errors that this file throws
 * have a sentence and a code, and never quote a value of a statement.
 */
import type { ClientBase, ClientConfig, Pool, PoolClient } from 'pg'
import type { ConnectionCounts } from './store.ts'

/** The code of the error that our own schema raises; its detail says which changes of a batch did not apply. */
export const NOT_APPLIED = 'VS001'

export interface PostgresServer {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  readonly password: string
  /** The schema of the tables; the default schema of the server when absent. */
  readonly schema?: string
  readonly tls: PostgresTls
  readonly connectTimeoutMs: number
}

export interface PostgresOptions extends PostgresServer {
  readonly maxConnections: number
  readonly statementTimeoutMs: number
}

/**
 * The settings of TLS: whether the connection is encrypted, and how the certificate of the server is verified. `ca` is
 * in PEM.
 */
export type PostgresTls =
  | { readonly mode: 'disable' }
  | { readonly mode: 'require' }
  | { readonly mode: 'verify-ca' | 'verify-full'; readonly ca?: string }

type ScalarParameter = string | number | null
/** A parameter of a statement; an array becomes an array of PostgreSQL. */
export type Parameter = ScalarParameter | readonly ScalarParameter[]

export interface Statement {
  readonly text: string
  readonly values: readonly Parameter[]
  /** The name of the prepared statement, which each connection plans once. Unset for texts that occur in many forms. */
  readonly name?: string
  /** Whether the statement has no time limit, as one that changes a large table. See {@link withConnection}. */
  readonly mayTakeLong?: boolean
}

export interface QueryResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly rowCount: number | null
}

export type StatementRunner = (statement: Statement) => Promise<QueryResult>

export interface Connections {
  readonly run: StatementRunner
  /** Runs the work on one connection of the pool. Closes the connection when the work rejects. */
  runOnOneConnection<T>(work: (run: StatementRunner) => Promise<T>): Promise<T>
  count(): ConnectionCounts
  close(): Promise<void>
}

const TRUST_ADVICE = 'name the certificate of its CA as sslrootcert in database.url, and the host that it was made for'

/** The most characters of an application name; the server cuts off what is longer. */
const MAX_NAME = 63

/** Additional time for an answer after the server's own time limit, in case the server is gone. */
const LAST_WAIT_MS = 2000

/** Makes the pool. Connections are opened on demand. A new connection is refused when `check` rejects. */
export async function openConnections(
  options: PostgresOptions,
  check?: (run: StatementRunner) => Promise<void>,
): Promise<Connections> {
  const { default: pg } = await import('pg')
  // The pool waits for the promise, which its type does not say.
  const onConnect: (client: ClientBase) => unknown = async (client) => {
    const run: StatementRunner = (statement) => client.query(queryOf(statement))
    await setUp(run, options, `set statement_timeout = ${options.statementTimeoutMs};`)
    await check?.(run)
  }
  const pool = new pg.Pool({
    ...clientConfig(options),
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    onConnect,
    query_timeout: options.statementTimeoutMs + LAST_WAIT_MS,
  })
  // When a connection ends, the statement on it rejects, and the pool opens another on demand.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const reusablePool = createReusablePool(pool)
  return {
    run: (statement) => runOnConnection(reusablePool, (client) => client.query(queryOf(statement)), isLost),
    runOnOneConnection: (work) =>
      runOnConnection(
        reusablePool,
        (client) => work((statement) => client.query(queryOf(statement))),
        () => true,
      ),
    count: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      // Statements of this moment wait in the pool as well while a connection is idle, which it gives them next.
      waiting: Math.max(0, pool.waitingCount - pool.idleCount),
    }),
    close: () => pool.end(),
  }
}

/**
 * Runs `work` on a new connection outside the pool, and closes the connection. A statement rejects when the server has
 * not answered within `answerTimeoutMs`, as a frozen server does; without a time its statements have no limit.
 */
export async function withConnection<T>(
  options: PostgresServer,
  work: (run: StatementRunner) => Promise<T>,
  answerTimeoutMs = 0,
): Promise<T> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ ...clientConfig(options), connectionTimeoutMillis: options.connectTimeoutMs })
  // An idle connection that is lost needs no report: its next statement rejects.
  client.on('error', () => undefined)
  const throwWithoutValues = (error: unknown): never => {
    throw withoutValues(error)
  }
  const run: StatementRunner = (statement) => {
    const limit = { query_timeout: statement.mayTakeLong === true ? 0 : answerTimeoutMs }
    return client.query({ ...queryOf(statement), ...limit }).catch(throwWithoutValues)
  }
  try {
    await client.connect().catch(throwWithoutValues)
    await setUp(run, options)
    return await work(run)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** A pool that can discard all its connections at once. */
interface ReusablePool {
  connect(): Promise<PoolClient>
  /** Marks every open connection as unusable. `connect` closes such a connection, and returns another. */
  giveUpAll(): void
}

function createReusablePool(pool: Pool): ReusablePool {
  let usable = new WeakSet<PoolClient>()
  pool.on('connect', (client) => usable.add(client))
  return {
    connect: async () => {
      for (;;) {
        const client = await pool.connect()
        if (usable.has(client)) return client
        client.release(true)
      }
    },
    giveUpAll: () => {
      usable = new WeakSet()
    },
  }
}

/**
 * Runs `work` on a connection of the pool, and returns the connection to the pool. Closes the connection instead when
 * `isSpoilt` returns true for the error of `work`.
 */
async function runOnConnection<T>(
  pool: ReusablePool,
  work: (client: PoolClient) => Promise<T>,
  isSpoilt: (error: unknown) => boolean,
): Promise<T> {
  let client: PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    throw withoutValues(error)
  }
  try {
    const result = await work(client)
    client.release()
    return result
  } catch (error) {
    if (isWithdrawn(error)) pool.giveUpAll()
    client.release(isSpoilt(error) || isWithdrawn(error))
    throw withoutValues(error)
  }
}

function queryOf({ text, values, name }: Statement) {
  return { text, values: [...values], ...(name === undefined ? {} : { name }) }
}

/** Tests whether an error has made the connection unusable: every error except one of severity ERROR has. */
function isLost(error: unknown): boolean {
  return (error as { readonly severity?: string }).severity !== 'ERROR'
}

/**
 * Tests whether the server has stopped accepting writes: it is read-only (25006), as after it became a standby, or it
 * is shutting down or recovering (57P01 to 57P05). The other connections of the pool lead to the same server.
 * PostgreSQL, appendix A, Error Codes.
 */
function isWithdrawn(error: unknown): boolean {
  return /^(25006|57P0\d)$/.test((error as { readonly code?: string }).code ?? '')
}

/**
 * Matches the codes of errors for a machine, a network or a server that is down, slow, full, or read-only. A name
 * without an address (ENOTFOUND) is one of them, since containers and headless services have an address only while they
 * run.
 */
const UNREACHABLE_CODES =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EAI_AGAIN|ENOTFOUND|57014|57P0\d|25006|53[123]00|08\d{3})$/
/** Matches the messages of `pg` for a connection that is lost or does not answer; such errors have no code. */
const UNREACHABLE_MESSAGES = /^PostgreSQL: (timeout expired$|Query read timeout$|Connection terminated)/

/**
 * Tests whether an error of this file says that the server cannot be reached, or does not accept connections or writes
 * at present: a problem that can end without a change of the settings.
 */
export function isUnreachable(error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' ? UNREACHABLE_CODES.test(code) : UNREACHABLE_MESSAGES.test(String(message))
}

function clientConfig({ host, port, database, user, password, schema, tls }: PostgresServer): ClientConfig {
  return {
    host,
    port,
    database,
    user,
    // A function, so that no password is taken from the environment or from a file.
    password: () => password,
    ssl: tlsOptions(tls),
    keepAlive: true,
    // The schema is in the name, as the services of one database may have a schema each.
    application_name: schema === undefined ? 'vouchsafe' : `vouchsafe ${schema}`.slice(0, MAX_NAME),
  }
}

/**
 * Selects the schema of a new connection, and runs `statements`. PgBouncer refuses a connection whose startup message
 * has these settings. PgBouncer, ignore_startup_parameters.
 */
async function setUp(run: StatementRunner, { schema }: PostgresServer, statements = ''): Promise<void> {
  const text = schema === undefined ? statements : `${statements} set search_path to "${schema}"`
  if (text !== '') await run({ text, values: [] })
}

function tlsOptions(tls: PostgresTls): ClientConfig['ssl'] {
  if (tls.mode === 'disable') return false
  if (tls.mode === 'require') return { rejectUnauthorized: false }
  return {
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
  }
}

/**
 * Returns a copy of the error that quotes no values. The `detail` of a server error may quote a row, so it is kept only
 * where our own schema raised the error ({@link NOT_APPLIED}).
 */
function withoutValues(thrownError: unknown): Error {
  const {
    message,
    code,
    detail,
    errors = [],
  } = thrownError as Error & {
    readonly code?: string
    readonly detail?: string
    readonly errors?: readonly Error[]
  }
  const text = message === '' ? errors.map((each) => each.message).join(', ') : message
  const advice = /CERT|UNABLE_TO_VERIFY/.test(code ?? '') ? `; ${TRUST_ADVICE}` : ''
  const error = new Error(`PostgreSQL: ${text}${advice}`)
  return Object.assign(error, code === undefined ? {} : { code }, code === NOT_APPLIED ? { detail } : {})
}
