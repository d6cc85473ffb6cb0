/**
 * A dump of a PostgreSQL database that is put back: no entry of a status list is given out twice, and the old lists
 * stay.
 */
import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type IssuerCollections, issuerMigrations } from '../../src/issuer/collections.ts'
import { confirmGeneration, type GenerationCollections, getCurrentGeneration } from '../../src/store/generation.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { type StatementRunner, withConnection } from '../../src/store/postgres-connections.ts'
import { partOf, type Store, updateWith } from '../../src/store/store.ts'
import { issuedBy } from '../support/restored.ts'
import { type Services, startServices } from '../support/services.ts'
import { freshUrl, postgresOf, retryOnConflict } from '../support/store.ts'

/** More than a process leases at a time. */
const MANY = 70

const url = freshUrl()
const schema = new URL(url).searchParams.get('currentSchema') ?? ''
const dump = `${schema}_dump`
const open = () => openPostgres<IssuerCollections>(postgresOf(url), issuerMigrations)
const effectsOf = (store: Store<IssuerCollections>) => ({
  store: partOf<IssuerCollections, GenerationCollections>(store),
  now: () => new Date(),
  random: randomBytes,
  retryOnConflict,
})
const onServer = <T>(work: (run: (text: string) => ReturnType<StatementRunner>) => Promise<T>): Promise<T> =>
  withConnection(postgresOf(url), (run) => work((text) => run({ text, values: [] })))

const tables = async (run: (text: string) => ReturnType<StatementRunner>): Promise<readonly string[]> =>
  (await run(`select tablename from pg_tables where schemaname = '${schema}'`)).rows.map(({ tablename }) =>
    String(tablename),
  )

/** Makes the tables and their rows in another schema, as a dump makes them that is restored. */
async function dumped(): Promise<void> {
  await onServer(async (run) => {
    await run(`create schema ${dump}`)
    for (const table of await tables(run)) {
      await run(`create table ${dump}.${table} (like ${schema}.${table} including all)`)
      await run(`insert into ${dump}.${table} select * from ${schema}.${table}`)
    }
    const [row] = (await run(`select pg_get_functiondef('${schema}.every_change_applied'::regproc) as text`)).rows
    await run(String(row?.text).replace(`${schema}.every_change_applied`, `${dump}.every_change_applied`))
  })
}

async function restored(): Promise<void> {
  await onServer(async (run) => {
    await run(`drop schema ${schema} cascade`)
    await run(`alter schema ${dump} rename to ${schema}`)
  })
}

describe('a PostgreSQL database that is put back from a dump', () => {
  it('gives no entry of a status list twice, also to a process that ran through it', async () => {
    const store = await open()
    const services: Services = await startServices({ issuerStore: store })
    onTestFinished(() => services.close())
    const lists = issuedBy(() => services)
    const early = await lists.issue(3)
    await dumped()
    await lists.issue(MANY)
    await restored()
    // A process ran through the restore, and another starts now.
    await lists.issue(MANY)
    const other: Store<IssuerCollections> = await open()
    onTestFinished(() => other.close())
    const generations = await Promise.all([store, other].map((each) => getCurrentGeneration(effectsOf(each))))
    expect(new Set(generations).size).toBe(1)
    lists.expectNoneTwice()
    expect(lists.listIds()).toHaveLength(2)
    await lists.expectServed(early)
  })

  it('gives none twice where the operator says so, as nothing tells files of the server that were put back', async () => {
    const store = await open()
    const services: Services = await startServices({ issuerStore: store })
    onTestFinished(() => services.close())
    expect(await confirmGeneration(effectsOf(store), { number: 0 })).toBe(undefined)
    const lists = issuedBy(() => services)
    await lists.issue(3)
    const rows = await onServer(async (run) => (await run(`select id, value, version from status_space`)).rows)
    await lists.issue(MANY)
    const [{ value, version } = {}] = rows
    await onServer((run) => run(`update status_space set value = '${String(value)}', version = ${String(version)}`))
    const again = await startServices({ issuerStore: await open() })
    onTestFinished(() => again.close())
    const { issuerStore } = again
    const why = await confirmGeneration(effectsOf(issuerStore), { number: 1 })
    expect(why).toMatch(/database\.generation/)
    const listsAgain = issuedBy(() => again)
    await listsAgain.issue(MANY)
    expect(new Set([...lists.listIds(), ...listsAgain.listIds()]).size).toBe(2)
    await expect(confirmGeneration(effectsOf(issuerStore), { number: 0 })).rejects.toThrow(/generation 1/)
  })
  it('goes on where a standby took over and was said before to be synchronous, and else says what happened', async () => {
    const store = await openPostgres<IssuerCollections>(postgresOf(freshUrl()), issuerMigrations)
    onTestFinished(() => store.close())
    const effects = effectsOf(store)
    const now = await store.readOrigin()
    /** Has the generation begun on the timeline before, as it has when a standby took over since. */
    const takeOver = () =>
      updateWith({ store: effects.store, retryOnConflict }, 'generation', 'current', (value) => ({
        value: { ...value, origin: now.replace(/\.[0-9A-F]{8}\./, '.00000000.') },
      }))
    const synchronous = { number: 0, hasSynchronousStandbys: true }
    expect(await confirmGeneration(effects, { number: 0 })).toBe(undefined)
    const first = await getCurrentGeneration(effects)
    await takeOver()
    expect(await confirmGeneration(effects, synchronous)).toMatch(/standby of its server took over/)
    const second = await getCurrentGeneration(effects)
    await takeOver()
    expect(await getCurrentGeneration(effects)).toBe(second)
    await takeOver()
    expect(await confirmGeneration(effects, synchronous)).toBe(undefined)
    expect(await getCurrentGeneration(effects)).toBe(second)
    expect((await effects.store.get('generation', 'current'))?.value.origin).toBe(now)
    await takeOver()
    expect(await confirmGeneration(effects, { ...synchronous, number: 1 })).toMatch(/database\.generation/)
    await takeOver()
    expect(await confirmGeneration(effects, { number: 1 })).toMatch(/standby of its server took over/)
    expect([first, second]).not.toContain(await getCurrentGeneration(effects))
  })
})
