/**
 * The origin of a PostgreSQL database, a text that differs between the database and a copy of it. Checks that new
 * connections lead to the database on which the process started.
 */
import { singleFlight } from '../async/single-flight.ts'
import type { StatementRunner } from './postgres-connections.ts'
import type { OriginComparison } from './store.ts'

/** The error codes of a function that the server does not have, or does not let this user call. */
const UNAVAILABLE_FUNCTION_CODES: readonly unknown[] = ['42883', '42501', '0A000']

/**
 * Returns a text that differs between the database and a copy of it. The text has four parts: the id of the system,
 * which differs on another server; the timeline, which differs after a standby took over or a point in time was
 * recovered; and the ids of the database and of its first table, which differ after a dump was restored. The first two
 * are absent where the server does not offer them to this user.
 */
export async function readOrigin(run: StatementRunner): Promise<string> {
  const tables = `(select oid from pg_database where datname = current_database()), 'migration'::regclass::oid`
  const system = `(select system_identifier from pg_control_system()), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`
  const queryText = (parts: string) => `select concat_ws('.', ${parts}) as origin`
  try {
    return String((await run({ text: queryText(`${system}, ${tables}`), values: [] })).rows[0]?.origin)
  } catch (error) {
    if (!UNAVAILABLE_FUNCTION_CODES.includes((error as { readonly code?: unknown }).code)) throw error
    return String((await run({ text: queryText(tables), values: [] })).rows[0]?.origin)
  }
}

/**
 * Compares two origins by the parts that both have, since the server may offer more or fewer of them to this user than
 * before. See {@link Store.compareOrigins}.
 */
export function compareOrigins(earlier: string, origin: string): OriginComparison {
  const [before, now] = [earlier, origin].map(readParts)
  const isSame = (name: keyof OriginParts): boolean =>
    before?.[name] === undefined || now?.[name] === undefined || before[name] === now[name]
  if (!isSame('table') || !isSame('database') || !isSame('system')) return 'copy'
  if (isSame('timeline')) return 'same'
  return timelineNumber(now) > timelineNumber(before) ? 'later timeline' : 'copy'
}

type OriginParts = Partial<Readonly<Record<'table' | 'database' | 'timeline' | 'system', string>>>

function readParts(origin: string): OriginParts {
  const [table = '', database = '', timeline, system] = origin.split('.').reverse()
  return { table, database, ...(timeline !== undefined && { timeline }), ...(system !== undefined && { system }) }
}

function timelineNumber(parts: OriginParts | undefined): number {
  return Number.parseInt(parts?.timeline ?? '', 16)
}

/** The options of the check of new connections. */
export interface OriginWatch {
  /** Whether a later timeline of the server is the same database, since its standbys have every commit. */
  readonly hasSynchronousStandbys?: boolean | undefined
  /**
   * Called when a new connection leads to a copy, once until it has ended. Makes the copy fit for use, through other
   * connections, and resolves to its origin; rejects or throws when it is not fit.
   */
  readonly onReplaced: () => Promise<string>
}

const REPLACED = 'another database is in the place of this one, and is not fit for use yet'

/**
 * Makes the check of new connections, which throws for one that leads to a copy until the copy is fit for use. Another
 * server than that of the open connections, such as a standby that took over, is reached by a new connection alone, so
 * that no statement runs on a copy before the check.
 */
export function createOriginCheck({
  hasSynchronousStandbys,
  onReplaced,
}: OriginWatch): (run: StatementRunner) => Promise<void> {
  let knownOrigin: string | undefined
  // A connection that waited would keep the room at the server that `onReplaced` needs.
  const takeOver = singleFlight(async () => {
    knownOrigin = await onReplaced()
  })
  return async (run) => {
    const origin = await readOrigin(run)
    const comparison = compareOrigins(knownOrigin ?? origin, origin)
    const isPromoted = hasSynchronousStandbys === true && comparison === 'later timeline'
    if (comparison !== 'same' && !isPromoted) {
      takeOver().catch(() => undefined)
      throw new Error(REPLACED)
    }
    // A user who lost a right reads fewer parts.
    if (comparison !== 'same' || origin.length > (knownOrigin?.length ?? 0)) knownOrigin = origin
  }
}
