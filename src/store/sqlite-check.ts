/** Checks whether a database file of SQLite is damaged, before and while a service uses it. */
import { loadDriver } from './sqlite.ts'
import { hasResultCode } from './sqlite-error.ts'
import { BUSY_TIMEOUT_MS } from './sqlite-transaction.ts'

/** The largest file that is checked as a whole, which takes half a second, and longer on a slow disk. */
const WHOLE_BYTES = 256 * 1024 * 1024

export interface DamageReport {
  /** The fault that SQLite found; undefined when there is none. */
  readonly damage?: string
  /** The tables that were not checked for lack of time. */
  readonly unchecked: readonly string[]
}

/**
 * Checks the pages of a file and their order, but not the contents of indices. Checks a large file table by table, and
 * begins no further table once `milliseconds` have passed. SQLite documentation, PRAGMA quick_check.
 */
export async function findDamage(
  file: string,
  milliseconds: number,
  options: { readonly readOnly?: boolean } = {},
): Promise<DamageReport> {
  const Database = await loadDriver()
  const database = new Database(file, options)
  try {
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
    const readFirstColumn = (sql: string): unknown => Object.values(database.prepare(sql).get() ?? {})[0]
    if (Number(readFirstColumn('pragma page_count')) * Number(readFirstColumn('pragma page_size')) <= WHOLE_BYTES) {
      return { ...damageOf(readFirstColumn('pragma quick_check(1)')), unchecked: [] }
    }
    const until = performance.now() + milliseconds
    const rows = database.prepare("select name from sqlite_master where type = 'table' order by rootpage").all()
    const names = rows.map(({ name }) => String(name))
    for (const [index, name] of names.entries()) {
      if (performance.now() > until) return { unchecked: names.slice(index) }
      const result = damageOf(readFirstColumn(`pragma quick_check('${name}')`))
      if (result.damage !== undefined) return { ...result, unchecked: [] }
    }
    return { unchecked: [] }
  } catch (error) {
    if (hasResultCode(error, 'corrupt', 'notADatabase')) return { damage: (error as Error).message, unchecked: [] }
    // Other errors are not damage. A running service repeats the check after them; at a start, opening reports them.
    if (options.readOnly === true) throw error
    return { unchecked: [] }
  } finally {
    database.close()
  }
}

function damageOf(answer: unknown): { readonly damage?: string } {
  return answer === 'ok' ? {} : { damage: String(answer) }
}
