/**
 * The connections to a PostgreSQL server: a pool that outlives the server's restarts. An error of this file
 * has a sentence and a code, and no value of the statement.
 */
import type { ClientConfig, Pool, PoolClient } from 'pg'
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
 * The settings of TLS: whether the connection is encrypted, and what is asked of the server's certificate; `ca` is in
 * PEM.
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
  /** The name under which each connection plans the text once; unset for texts that occur in many forms. */
  readonly name?: string
}

export interface QueryResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly rowCount: number | null
}

export type StatementRunner = (statement: Statement) => Promise<QueryResult>

export interface Connections {
  readonly run: StatementRunner
  /** Runs the work on a connection of its own, which is closed afterwards when the work rejects. */
  runOnOneConnection<T>(work: (run: StatementRunner) => Promise<T>): Promise<T>
  count(): ConnectionCounts
  close(): Promise<void>
}

const TRUST_ADVICE = 'name the certificate of its CA as sslrootcert in database.url, and the host that it was made for'

/** The most characters of an application name; the server cuts off what is longer. */
const MAX_NAME = 63

/** Additional time for an answer after the server's own time limit, in case the server is gone. */
const LAST_WAIT_MS = 2000

export async function openConnections(options: PostgresOptions): Promise<Connections> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    ...clientConfig(options),
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    statement_timeout: options.statementTimeoutMs,
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
      waiting: pool.waitingCount,
    }),
    close: () => pool.end(),
  }
}

/** Runs `work` on a connection outside the pool, whose statements have no time limit. */
export async function withConnection<T>(
  options: PostgresServer,
  work: (run: StatementRunner) => Promise<T>,
): Promise<T> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ ...clientConfig(options), connectionTimeoutMillis: options.connectTimeoutMs })
  // The next statement tells of a connection that is lost while nothing runs.
  client.on('error', () => undefined)
  const throwWithoutValues = (error: unknown): never => {
    throw withoutValues(error)
  }
  try {
    await client.connect().catch(throwWithoutValues)
    return await work((statement) => client.query(queryOf(statement)).catch(throwWithoutValues))
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** A pool whose connections can be given up together. */
interface ReusablePool {
  connect(): Promise<PoolClient>
  /** Keeps every connection that is open now from being used for further work. */
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
 * Runs `work` on a connection of the pool, which gets the connection back unless `isSpoilt` says that an error spoilt
 * it.
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

/** Tests whether the connection can no longer be used: only after an error of severity ERROR does it stay open. */
function isLost(error: unknown): boolean {
  return (error as { readonly severity?: string }).severity !== 'ERROR'
}

/**
 * Tests whether the server has withdrawn from writing: it can only be read (25006), as one that has become a standby,
 * or it shuts down or is recovering (57P01 to 57P05). Other connections of the pool lead to the same server.
 * PostgreSQL, appendix A, Error Codes.
 */
function isWithdrawn(error: unknown): boolean {
  return /^(25006|57P0\d)$/.test((error as { readonly code?: string }).code ?? '')
}

/** Matches the codes of what fails while a machine, a network or a server is away, full, or can only be read. */
const UNREACHABLE_CODES =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EAI_AGAIN|57P0\d|25006|53[123]00|08\d{3})$/
/** Matches the sentences that `pg` has for such a connection, without a code. */
const UNREACHABLE_MESSAGES = /^PostgreSQL: (timeout expired$|Connection terminated)/

/**
 * Tests whether an error of this file says that the server cannot be reached, takes no connections yet or no changes:
 * that ends without a change of the settings.
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
    ...(schema === undefined ? {} : { options: `-c search_path=${schema}` }),
  }
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
 * Returns the error without values: the `detail` of a server error may quote a row, so only our own `detail` is kept.
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
