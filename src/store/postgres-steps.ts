/**
 * Long batches on PostgreSQL: consecutive changes of the same kind are joined into one statement, which costs one round
 * trip.
 */
import type { Statement, StatementRunner } from './postgres-connections.ts'
import { rowOf, statementOf } from './statements.ts'
import type { Change } from './store.ts'

type Insert<C> = Extract<Change<C>, { readonly insert: unknown }>
type Delete<C> = Extract<Change<C>, { readonly delete: unknown }>

/** Changes that one statement makes. The statement returns the id of each row that it changed. */
interface Step<C> {
  readonly statement: Statement
  readonly changes: readonly Change<C>[]
}

/**
 * Applies all changes in one transaction, or none. Returns the first change that did not apply; undefined when all did.
 */
export async function applyInSteps<C>(
  run: StatementRunner,
  changes: readonly Change<C>[],
): Promise<Change<C> | undefined> {
  await run({ text: 'begin', values: [] })
  for (const step of stepsOf(changes)) {
    const { rows } = await run(step.statement)
    const appliedIds = new Set(rows.map(({ id }) => id))
    // Only the first of two inserts with the same id applies: the second `delete` returns false.
    const conflict = step.changes.find(({ id }) => !appliedIds.delete(id))
    if (conflict !== undefined) {
      await run({ text: 'rollback', values: [] })
      return conflict
    }
  }
  await run({ text: 'commit', values: [] })
  return undefined
}

function stepsOf<C>(changes: readonly Change<C>[]): readonly Step<C>[] {
  const groups: Change<C>[][] = []
  for (const change of changes) {
    const last = groups.at(-1)
    if (last?.[0] !== undefined && canJoin(last[0], change)) last.push(change)
    else groups.push([change])
  }
  return groups.map((group) => ({ statement: statementFor(group), changes: group }))
}

function canJoin<C>(first: Change<C>, next: Change<C>): boolean {
  const isSameCollection = rowOf(first).collection === rowOf(next).collection
  // Only some collections have a column for the time of creation.
  if ('createdAt' in first !== 'createdAt' in next) return false
  return isSameCollection && (['insert', 'delete'] as const).some((kind) => kind in first && kind in next)
}

function statementFor<C>(changes: readonly Change<C>[]): Statement {
  const [first] = changes as readonly [Change<C>]
  if (changes.length > 1 && 'insert' in first) return insertAll(first.insert, changes as readonly Insert<C>[])
  if (changes.length > 1 && 'delete' in first) return deleteAll(first.delete, changes as readonly Delete<C>[])
  const [sql, ...values] = statementOf(first)
  return numberParameters([`${sql} returning id`, ...values])
}

function insertAll<C>(collection: string, changes: readonly Insert<C>[]): Statement {
  const creationTimes = changes.flatMap(({ createdAt }) => createdAt?.getTime() ?? [])
  const [column, array] = creationTimes.length === 0 ? ['', ''] : [', created_at', ', $4::bigint[]']
  const rows = `unnest($1::text[], $2::text[], $3::bigint[]${array}) as added (id, value, due_at${column})`
  return {
    text: `insert into ${collection} (id, value, version, due_at${column}) select id, value, 0, due_at${column} from ${rows} on conflict (id) do nothing returning id`,
    values: [
      changes.map(({ id }) => id),
      changes.map(({ value }) => JSON.stringify(value)),
      changes.map(({ dueAt }) => dueAt?.getTime() ?? null),
      ...(creationTimes.length === 0 ? [] : [creationTimes]),
    ],
  }
}

function deleteAll<C>(collection: string, changes: readonly Delete<C>[]): Statement {
  const rows = 'unnest($1::text[], $2::integer[]) as deletion (id, version)'
  return {
    text: `delete from ${collection} as stored using ${rows} where stored.id = deletion.id and stored.version = deletion.version returning stored.id`,
    values: [changes.map(({ id }) => id), changes.map(({ version }) => version)],
  }
}

/** Replaces each `?` of a statement with `$1`, `$2` and so on, the placeholders of PostgreSQL. */
export function numberParameters([sql, ...values]: readonly [string, ...(string | number | null)[]]): Statement {
  let number = 0
  return { text: sql.replaceAll('?', () => `$${++number}`), values }
}
