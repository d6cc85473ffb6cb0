/** The contract of a store: every implementation passes this suite, and nothing else is relied upon. */
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  checkWritable,
  confirmGeneration,
  finishRestore,
  type GenerationCollections,
  generationCollection,
  getCurrentGeneration,
} from './generation.ts'
import { ConflictError, createRetryOnConflict } from './retry.ts'
import {
  addCreationTime,
  type Change,
  createCollection,
  type DuePosition,
  type Migration,
  partOf,
  type RowPosition,
  type Store,
  updateWith,
} from './store.ts'

type Things = { thing: { n: number; text?: string }; spent: Record<string, never> } & GenerationCollections

const firstMigration: Migration = {
  id: '0001',
  statements: [...createCollection('thing'), ...createCollection('spent'), ...generationCollection],
}
const migrations: readonly Migration[] = [firstMigration, { id: '0002', statements: addCreationTime('thing') }]

/**
 * Makes the suite: `open` gives a store on the place given by `fresh`; opening the same place again finds what was
 * committed.
 */
export function storeContract<Place>(
  fresh: () => Place | Promise<Place>,
  open: (place: Place, migrations: readonly Migration[]) => Promise<Store<Things>>,
): void {
  let place: Place
  let store: Store<Things>
  beforeEach(async () => {
    place = await fresh()
    store = await open(place, migrations)
  })
  afterEach(() => store.close())

  const retryOnConflict = createRetryOnConflict({
    random: randomBytes,
    wait: setTimeout,
    counts: { retried: 0, givenUp: 0 },
  })
  const effectsOf = (of: Store<Things>) => ({
    store: partOf<Things, GenerationCollections>(of),
    random: randomBytes,
    retryOnConflict,
    now: () => new Date('2026-05-01T08:00:00Z'),
  })
  const insert = (id: string, n: number): Change<Things> => ({ insert: 'thing', id, value: { n } })
  /**
   * Commits, and gives where the very object that conflicted stands among the changes; -1 where it is another object.
   */
  const conflictIn = async (changes: readonly Change<Things>[]): Promise<number | undefined> => {
    const conflict = await store.commit(changes)
    return conflict && changes.indexOf(conflict)
  }
  const parallel = <T>(times: number, run: (i: number) => Promise<T>) =>
    Promise.all(Array.from({ length: times }, (_, i) => run(i)))

  it('gives back what was inserted, and undefined for what was not', async () => {
    expect(await store.commit([{ insert: 'thing', id: 'a', value: { n: 1, text: 'ü "\'; drop table thing' } }])).toBe(
      undefined,
    )
    expect(await store.get('thing', 'a')).toEqual({ value: { n: 1, text: 'ü "\'; drop table thing' }, version: 0 })
    expect(await store.get('thing', 'b')).toBe(undefined)
    expect(await store.list('thing')).toHaveLength(1)
  })

  it('finds an id whole, and not what another begins with', async () => {
    await store.commit([insert('a', 1)])
    for (const id of ['a\0', 'a\0b', '', 'A', 'a ', ' a']) expect(await store.get('thing', id)).toBe(undefined)
  })

  it('inserts an id once, even when 50 try at the same time', async () => {
    const results = await parallel(50, (n) => store.commit([insert('a', n)]))
    expect(results.filter((conflict) => conflict === undefined)).toHaveLength(1)
    expect(await store.get('thing', 'a')).toMatchObject({ value: { n: results.indexOf(undefined) } })
  })

  it('updates only the version that was read, and 50 updates at the same time all count', async () => {
    await store.commit([insert('a', 0)])
    const next = ({ n }: { readonly n: number }) => ({ value: { n: n + 1 } })
    const addOne = (): Promise<unknown> =>
      updateWith({ store, retryOnConflict }, 'thing', 'a', next).catch((error: unknown) => {
        // Where commits take longer than the pauses between attempts, some of fifty have no turn among twenty attempts.
        if (error instanceof ConflictError) return addOne()
        throw error
      })
    await parallel(50, addOne)
    expect(await store.get('thing', 'a')).toEqual({ value: { n: 50 }, version: 50 })
    expect(await conflictIn([{ update: 'thing', id: 'a', version: 3, value: { n: -1 } }])).toBe(0)
    expect(await conflictIn([{ update: 'thing', id: 'missing', version: 0, value: { n: -1 } }])).toBe(0)
    expect(await updateWith({ store, retryOnConflict }, 'thing', 'missing', (value) => ({ value }))).toBe(undefined)
  })

  it('applies a batch whole or not at all, and gives back the change that did not hold', async () => {
    await store.commit([insert('taken', 1)])
    expect(await conflictIn([insert('new', 1), insert('taken', 2)])).toBe(1)
    expect(await store.get('thing', 'new')).toBe(undefined)
    const mixed: Change<Things>[] = [
      { insert: 'spent', id: 'nonce', value: {} },
      { update: 'thing', id: 'taken', version: 9, value: { n: 9 } },
    ]
    expect(await conflictIn(mixed)).toBe(1)
    expect(await store.get('spent', 'nonce')).toBe(undefined)
  })

  it('lets one of 50 batches spend the same nonce, and leaves the others without effect', async () => {
    const results = await parallel(50, (i) =>
      store.commit([insert(`session-${i}`, i), { insert: 'spent', id: 'nonce', value: {} }]),
    )
    expect(results.filter((conflict) => conflict === undefined)).toHaveLength(1)
    expect(await store.list('thing')).toHaveLength(1)
  })

  it('moves a session for one of 50 batches, and keeps nothing that the others brought along', async () => {
    await store.commit([insert('session', 0)])
    const results = await parallel(50, (n) =>
      conflictIn([insert(`event ${n}`, n), { update: 'thing', id: 'session', version: 0, value: { n } }]),
    )
    expect(results.filter((position) => position !== undefined)).toEqual(Array(49).fill(1))
    const winner = results.indexOf(undefined)
    expect(await store.list('thing')).toEqual([
      { id: `event ${winner}`, value: { n: winner } },
      { id: 'session', value: { n: winner } },
    ])
  })

  it('applies batches that change the same rows in another order, all of them', async () => {
    await store.commit([insert('a', 0), insert('b', 0), { insert: 'spent', id: 'c', value: {} }])
    const touches: Change<Things>[] = [
      { touch: 'thing', id: 'a' },
      { touch: 'spent', id: 'c' },
      { touch: 'thing', id: 'b' },
    ]
    const results = await parallel(50, (n) => store.commit(n % 2 === 0 ? touches : touches.toReversed()))
    expect(results).toEqual(Array(50).fill(undefined))
    expect(await store.get('thing', 'b')).toMatchObject({ version: 50 })
    expect(await store.get('spent', 'c')).toMatchObject({ version: 50 })
  })

  it('applies the changes of a batch one after the other, also to the same row', async () => {
    const next = (version: number): Change<Things> => ({ update: 'thing', id: 'a', version, value: { n: version + 1 } })
    expect(await store.commit([insert('a', 0), next(0), { touch: 'thing', id: 'a' }, next(2)])).toBe(undefined)
    expect(await store.get('thing', 'a')).toEqual({ value: { n: 3 }, version: 3 })
    expect(await conflictIn([next(3), next(3)])).toBe(1)
    expect(await conflictIn([next(3), insert('b', 0), insert('b', 1)])).toBe(2)
    expect(await store.commit([next(3), { delete: 'thing', id: 'a', version: 4 }, insert('a', 9)])).toBe(undefined)
    expect(await store.list('thing')).toEqual([{ id: 'a', value: { n: 9 } }])
  })

  it('applies a batch of hundreds whole or not at all, and gives back the first change that did not hold', async () => {
    const ids = Array.from({ length: 120 }, (_, n) => `row ${n}`)
    const inserts = ids.map((id, n) => ({ insert: 'thing', id, value: { n }, dueAt: new Date(n) }) as const)
    expect(await conflictIn([...inserts, insert('row 7', 9)])).toBe(120)
    expect(await store.commit([...inserts, { insert: 'spent', id: 'x', value: {} }])).toBe(undefined)
    expect((await store.listDue('thing', new Date(1), 10)).map(({ id, value }) => [id, value.n])).toEqual([
      ['row 0', 0],
      ['row 1', 1],
    ])
    expect(await store.get('thing', 'row 119')).toEqual({ value: { n: 119 }, version: 0 })
    const deletes = ids.map((id) => ({ delete: 'thing', id, version: 0 }) as const)
    await store.commit([{ touch: 'thing', id: 'row 60' }])
    expect(await conflictIn([insert('new', 1), ...deletes])).toBe(61)
    expect(await store.list('thing')).toHaveLength(120)
    const right = deletes.map((each) => (each.id === 'row 60' ? { ...each, version: 1 } : each))
    expect(await conflictIn([...right, { delete: 'thing', id: 'row 5', version: 0 }])).toBe(120)
    expect(await store.commit([...right, insert('new', 1)])).toBe(undefined)
    expect(await store.list('thing')).toEqual([{ id: 'new', value: { n: 1 } }])
  })

  it('reads many rows at once, each as it was when it was asked for or later', async () => {
    await store.commit(Array.from({ length: 40 }, (_, n) => insert(`row ${n}`, n)))
    const rows = await parallel(250, (n) => store.get('thing', `row ${n % 50}`))
    for (const [n, row] of rows.entries()) expect(row?.value.n).toBe(n % 50 < 40 ? n % 50 : undefined)
    for (let n = 0; n < 20; n += 1) {
      const early = store.get('thing', 'row 0')
      await updateWith({ store, retryOnConflict }, 'thing', 'row 0', ({ n: before }) => ({ value: { n: before + 1 } }))
      expect((await store.get('thing', 'row 0'))?.value.n).toBe(n + 1)
      await early
    }
  })

  it('has done what it was asked when there was nothing to do', async () => {
    expect(await store.commit([])).toBe(undefined)
  })

  it('orders ids by their bytes', async () => {
    const ids = ['-', 'A', 'Z', '_', 'a', 'b', 'aa', 'ä', '\u{1F600}', '\uFFFD']
    await store.commit(ids.map((id) => ({ ...insert(id, 0), dueAt: new Date(0) })))
    const sorted = ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    expect((await store.list('thing')).map(({ id }) => id)).toEqual(sorted)
    expect((await store.listDue('thing', new Date(0), 99)).map(({ id }) => id)).toEqual(sorted)
  })

  it('purges thousands of rows', async () => {
    const ids = Array.from({ length: 2500 }, (_, n) => String(n))
    await store.commit(ids.map((id) => ({ insert: 'spent', id, value: {}, dueAt: new Date(1000) })))
    expect(await store.purge('spent', new Date(1000))).toBe(2500)
    expect(await store.list('spent')).toEqual([])
  })

  it('keeps what a batch beside a refused one wrote', async () => {
    await store.commit([insert('taken', 1)])
    const [first, refused, last] = await Promise.all([
      store.commit([insert('first', 1)]),
      conflictIn([insert('lost', 1), insert('taken', 1)]),
      store.commit([insert('last', 1)]),
    ])
    expect([first, refused, last]).toEqual([undefined, 1, undefined])
    expect((await store.list('thing')).map(({ id }) => id)).toEqual(['first', 'last', 'taken'])
  })

  it('fails only the batch that cannot be written', async () => {
    const unwritable = { insert: 'nowhere', id: 'a', value: {} } as unknown as Change<Things>
    const results = await Promise.allSettled([
      store.commit([insert('a', 1)]),
      store.commit([unwritable]),
      store.commit([insert('b', 1)]),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await store.list('thing')).toHaveLength(2)
  })

  it('purges what is due and nothing else', async () => {
    await store.commit([{ insert: 'spent', id: 'old', value: {}, dueAt: new Date(1000) }])
    await store.commit([{ insert: 'spent', id: 'new', value: {}, dueAt: new Date(3000) }])
    await store.commit([{ insert: 'spent', id: 'for ever', value: {} }])
    expect(await store.purge('spent', new Date(2000))).toBe(1)
    expect((await store.list('spent')).map(({ id }) => id)).toEqual(['for ever', 'new'])
  })

  it('finds what is due, longest first, and no more than was asked for', async () => {
    const inserts = [5, 1, 3].map((n) => ({ ...insert(`due ${n}`, n), dueAt: new Date(n * 1000) }))
    await store.commit([...inserts, insert('never', 0)])
    expect(await store.listDue('thing', new Date(999), 9)).toEqual([])
    expect(await store.listDue('thing', new Date(3000), 9)).toEqual([
      { id: 'due 1', value: { n: 1 }, version: 0 },
      { id: 'due 3', value: { n: 3 }, version: 0 },
    ])
    expect((await store.listDue('thing', new Date(9000), 1)).map(({ id }) => id)).toEqual(['due 1'])
  })

  it('finds what is due some at a time, each row once', async () => {
    const rows: readonly (readonly [string, number])[] = [
      ['b', 1],
      ['Z', 1],
      ['ä', 1],
      ['a', 2],
      ['c', 0],
      ['late', 9],
    ]
    await store.commit(rows.map(([id, due]) => ({ ...insert(id, due), dueAt: new Date(due) })))
    const found: string[] = []
    for (let after: DuePosition | undefined; ; ) {
      const page = await store.listDue('thing', new Date(2), 2, after)
      const last = page.at(-1)
      if (last === undefined) break
      found.push(...page.map(({ id }) => id))
      after = { dueAt: new Date(last.value.n), id: last.id }
    }
    expect(found).toEqual(['c', 'Z', 'b', 'ä', 'a'])
  })

  it('moves what is due with an update, or takes it away, or leaves it', async () => {
    const at = (ms: number) => store.listDue('thing', new Date(ms), 9).then((rows) => rows.map(({ id }) => id))
    await store.commit(['a', 'b', 'c'].map((id) => ({ ...insert(id, 0), dueAt: new Date(1000) })))
    const next = (id: string) => ({ update: 'thing', id, version: 0, value: { n: 1 } }) as const
    await store.commit([{ ...next('a'), dueAt: new Date(2000) }, { ...next('b'), dueAt: null }, next('c')])
    expect(await at(1000)).toEqual(['c'])
    expect(await at(2000)).toEqual(['c', 'a'])
    expect(await store.purge('thing', new Date(9000))).toBe(2)
    expect((await store.list('thing')).map(({ id }) => id)).toEqual(['b'])
  })

  const insertAt = (id: string, ms: number): Change<Things> => ({ ...insert(id, ms), createdAt: new Date(ms) })
  const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)

  it('gives the newest rows first, no more than asked for, and goes on after any of them', async () => {
    await store.commit([insertAt('b', 2000), insertAt('a', 1000), insertAt('c', 3000)])
    const [c, b] = await store.listNewest('thing', 2)
    expect([c, b]).toEqual([
      { id: 'c', createdAt: new Date(3000), value: { n: 3000 } },
      { id: 'b', createdAt: new Date(2000), value: { n: 2000 } },
    ])
    expect(idsOf(await store.listNewest('thing', 2, b))).toEqual(['a'])
    expect(await store.listNewest('thing', 2, { createdAt: new Date(1000), id: 'a' })).toEqual([])
    // A position needs no row: that may have been deleted meanwhile.
    await store.commit([{ delete: 'thing', id: 'b', version: 0 }])
    expect(idsOf(await store.listNewest('thing', 9, b))).toEqual(['a'])
    expect(idsOf(await store.listNewest('thing', 9, { createdAt: new Date(2500), id: 'x' }))).toEqual(['a'])
  })

  it('leaves a row in its place when it is changed, due at another time or inserted in a large batch', async () => {
    const many = Array.from({ length: 60 }, (_, n) =>
      n % 2 === 0 ? insertAt(`row ${n}`, n + 1) : insert(`row ${n}`, n),
    )
    await store.commit(many)
    await updateWith({ store, retryOnConflict }, 'thing', 'row 2', () => ({ value: { n: -1 } }))
    await store.commit([{ update: 'thing', id: 'row 4', version: 0, value: { n: -2 }, dueAt: new Date(9) }])
    const rows = await store.listNewest('thing', 99)
    expect(idsOf(rows).slice(0, 30)).toEqual(Array.from({ length: 30 }, (_, n) => `row ${58 - 2 * n}`))
    expect(rows.find(({ id }) => id === 'row 4')).toEqual({ id: 'row 4', createdAt: new Date(5), value: { n: -2 } })
    expect(rows).toHaveLength(60)
  })

  it('gives each of many rows of few times once, page by page, while others are added', async () => {
    await store.commit(Array.from({ length: 95 }, (_, n) => insertAt(`row ${n}`, n % 3)))
    const walked: string[] = []
    for (let after: RowPosition | undefined, more = true; more; ) {
      const rows = await store.listNewest('thing', 10, after)
      walked.push(...idsOf(rows))
      after = rows.at(-1)
      more = rows.length === 10
      await store.commit([insertAt(`later ${walked.length}`, 1000)])
    }
    expect(walked.toSorted()).toEqual(Array.from({ length: 95 }, (_, n) => `row ${n}`).toSorted())
  })

  it('gives rows that are older than the order of their collection last', async () => {
    const older = await fresh()
    const before = await open(older, [firstMigration])
    await before.commit([insert('old 1', 1), insert('old 2', 2)])
    await before.close()
    const after = await open(older, migrations)
    await after.commit([insertAt('new', 1000)])
    const rows = await after.listNewest('thing', 2)
    expect(rows[0]?.id).toBe('new')
    expect([...rows, ...(await after.listNewest('thing', 2, rows[1]))].map(({ value }) => value.n).toSorted()).toEqual([
      1, 1000, 2,
    ])
    await after.close()
  })

  it('deletes only the version that was read', async () => {
    await store.commit([insert('a', 0)])
    await updateWith({ store, retryOnConflict }, 'thing', 'a', () => ({ value: { n: 1 } }))
    expect(await conflictIn([{ delete: 'thing', id: 'a', version: 0 }])).toBe(0)
    expect(await store.get('thing', 'a')).toMatchObject({ value: { n: 1 } })
    const results = await parallel(50, () => store.commit([{ delete: 'thing', id: 'a', version: 1 }]))
    expect(results.filter((conflict) => conflict === undefined)).toHaveLength(1)
    expect(await store.get('thing', 'a')).toBe(undefined)
  })

  it('counts every touch of a row, however many come at once, and none of a row that is not there', async () => {
    await store.commit([insert('a', 7)])
    const results = await parallel(50, () => store.commit([{ touch: 'thing', id: 'a' }]))
    expect(results).toEqual(Array(50).fill(undefined))
    expect(await store.get('thing', 'a')).toEqual({ value: { n: 7 }, version: 50 })
    expect(await conflictIn([insert('b', 1), { touch: 'thing', id: 'missing' }])).toBe(1)
    expect(await store.get('thing', 'b')).toBe(undefined)
  })

  it('finds everything again after it was closed and opened, and applies each migration once', async () => {
    await store.commit([insert('a', 1)])
    await store.close()
    store = await open(place, migrations)
    expect(await store.get('thing', 'a')).toEqual({ value: { n: 1 }, version: 0 })
  })

  it('refuses a database that a newer release has migrated', async () => {
    await store.close()
    store = await open(place, [...migrations, { id: '0003', statements: createCollection('more') }])
    await expect(open(place, migrations)).rejects.toThrow(/0003/)
  })

  it('has one origin and one generation for all who ask, however many at once, and after it was opened again', async () => {
    const other = await open(place, migrations)
    const [origin] = new Set(await parallel(20, (n) => (n % 2 === 0 ? store : other).readOrigin()))
    const generations = await parallel(20, (n) => getCurrentGeneration(effectsOf(n % 2 === 0 ? store : other)))
    expect(new Set(generations).size).toBe(1)
    await updateWith({ store, retryOnConflict }, 'generation', 'current', (value) => ({ value }))
    await Promise.all([store.close(), other.close()])
    store = await open(place, migrations)
    expect([await store.readOrigin(), await getCurrentGeneration(effectsOf(store))]).toEqual([origin, generations[0]])
    const empty = await open(await fresh(), migrations)
    expect([origin, generations[0]]).not.toContain(await getCurrentGeneration(effectsOf(empty)))
    await empty.close()
  })

  it('begins another generation where its number goes up or nothing outside knows of it, and else goes on', async () => {
    const confirm = (number: number, previous: readonly string[], next: string) =>
      confirmGeneration(effectsOf(store), { number, witnesses: previous }, next)
    expect(await confirm(0, [], 'a')).toBe(undefined)
    const first = await getCurrentGeneration(effectsOf(store))
    expect(await confirm(0, ['a'], 'b')).toBe(undefined)
    // A start that was cut off leaves two.
    expect(await confirm(0, ['c', 'b'], 'd')).toBe(undefined)
    expect(await getCurrentGeneration(effectsOf(store))).toBe(first)
    const generations = [first]
    for (const [number, kept, why] of [
      [0, ['c', 'b'], /the file beside it/],
      [0, [], /the file beside it/],
      [3, ['d'], /database\.generation/],
    ] as const) {
      expect(await confirm(number, kept, 'd')).toMatch(why)
      generations.push(await getCurrentGeneration(effectsOf(store)))
    }
    expect(new Set(generations).size).toBe(4)
    await expect(confirm(2, ['d'], 'e')).rejects.toThrow(/is of generation 3; set database\.generation/)
    expect(await confirmGeneration(effectsOf(store), { number: 3 })).toBe(undefined)
  })

  it('begins another generation when its origin is another than when the generation began', async () => {
    const first = await getCurrentGeneration(effectsOf(store))
    await updateWith({ store, retryOnConflict }, 'generation', 'current', (value) => ({
      value: { ...value, origin: 'elsewhere' },
    }))
    const generations = await parallel(10, () => getCurrentGeneration(effectsOf(store)))
    expect(new Set(generations).size).toBe(1)
    expect(generations).not.toContain(first)
  })

  it('goes on with its generation after its schema was brought up to date', async () => {
    const first = await getCurrentGeneration(effectsOf(store))
    await store.close()
    store = await open(place, [...migrations, { id: '0003', statements: createCollection('more') }])
    expect(await confirmGeneration(effectsOf(store), { number: 0 })).toBe(undefined)
    expect(await getCurrentGeneration(effectsOf(store))).toBe(first)
  })

  it('that is a copy has what was open made void, once, and again where that did not end', async () => {
    const times: Date[] = []
    const settle = (fails = false) =>
      finishRestore<Things, string>(
        { store, retryOnConflict },
        {
          voidOpen: (restoredAt) => {
            times.push(restoredAt)
            return fails ? Promise.reject(new Error('cut off')) : Promise.resolve('done')
          },
          recordRestore: (generationId) => [insert(generationId, times.length)],
        },
      )
    const recorded = async () => (await store.list('thing')).map(({ id, value: { n } }) => [id, n])
    expect(await confirmGeneration(effectsOf(store), { number: 0 })).toBe(undefined)
    expect(await settle()).toBe(undefined)
    expect(await confirmGeneration(effectsOf(store), { number: 0, restoredBecause: 'a backup was restored' })).toMatch(
      /backup/,
    )
    await expect(settle(true)).rejects.toThrow('cut off')
    expect(await recorded()).toEqual([])
    expect(await confirmGeneration(effectsOf(store), { number: 0 })).toBe(undefined)
    expect([await settle(), await settle()]).toEqual(['done', undefined])
    expect(times).toEqual([effectsOf(store).now(), effectsOf(store).now()])
    expect(await recorded()).toEqual([[await getCurrentGeneration(effectsOf(store)), 2]])
  })

  it('that was restored before it had a generation has what was open voided too', async () => {
    expect(await confirmGeneration(effectsOf(store), { number: 0, restoredBecause: 'a backup was restored' })).toMatch(
      /backup/,
    )
    const steps = { voidOpen: (restoredAt: Date) => Promise.resolve(restoredAt), recordRestore: () => [] }
    expect(await finishRestore<Things, Date>({ store, retryOnConflict }, steps)).toEqual(effectsOf(store).now())
  })

  it('that is a copy records the restore once, also when several processes start at once', async () => {
    expect(await confirmGeneration(effectsOf(store), { number: 0 })).toBe(undefined)
    expect(await confirmGeneration(effectsOf(store), { number: 0, restoredBecause: 'a backup was restored' })).toMatch(
      /backup/,
    )
    const steps = { voidOpen: () => setTimeout(5), recordRestore: () => [insert(randomBytes(8).toString('hex'), 1)] }
    await parallel(5, () => finishRestore<Things, unknown>({ store, retryOnConflict }, steps))
    expect(await store.list('thing')).toHaveLength(1)
  })

  it('can be written, or says that it cannot', async () => {
    await parallel(5, () => checkWritable(effectsOf(store)))
    await checkWritable(effectsOf(store))
    await store.close()
    await expect(checkWritable(effectsOf(store))).rejects.toThrow()
    store = await open(place, migrations)
  })

  it('opens one place ten times at once', async () => {
    const empty = await fresh()
    const stores = await parallel(10, () => open(empty, migrations))
    await Promise.all(stores.map((each) => each.close()))
  })
}
