/** The comparison of origins that a server could give. */
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openTestStore, retryOnConflict } from '../../test/support/store.ts'
import {
  confirmGeneration,
  findUnnoticedRestore,
  type GenerationCollections,
  generationCollection,
  getCurrentGeneration,
} from './generation.ts'
import { compareOrigins, createOriginCheck } from './postgres-origin.ts'
import type { OriginComparison, Store } from './store.ts'

const ORIGIN = '7000.00000001.5.16384'

/** Checks a connection for each origin in turn, and returns how often another database was found. */
async function countReplaced(origins: readonly string[], hasSynchronousStandbys = false): Promise<number> {
  let replaced = 0
  let current = ''
  const onReplaced = (): Promise<string> => {
    replaced += 1
    return Promise.resolve(current)
  }
  const check = createOriginCheck({ hasSynchronousStandbys, onReplaced })
  for (const origin of origins) {
    current = origin
    await checkOrigin(check, origin)
    await setImmediate()
  }
  return replaced
}

/** Checks a connection to a database of the origin, and tells whether it may be used. */
function checkOrigin(check: ReturnType<typeof createOriginCheck>, origin: string): Promise<boolean> {
  return check(() => Promise.resolve({ rows: [{ origin }], rowCount: 1 })).then(
    () => true,
    () => false,
  )
}

it('connections to a copy are refused, and hold nothing up, until the copy that they lead to is fit for use', async () => {
  const ends: ((origin: string | Error) => void)[] = []
  const onReplaced = () =>
    new Promise<string>((resolve, reject) => {
      ends.push((origin) => (typeof origin === 'string' ? resolve(origin) : reject(origin)))
    })
  const check = createOriginCheck({ onReplaced })
  const standby = '7000.00000002.5.16384'
  expect(await checkOrigin(check, ORIGIN)).toBe(true)
  const answers = await Promise.all([standby, standby, ORIGIN].map((origin) => checkOrigin(check, origin)))
  expect([answers, ends.length]).toEqual([[false, false, true], 1])
  ends[0]?.(new Error('the server is gone'))
  await setImmediate()
  expect([await checkOrigin(check, standby), ends.length]).toEqual([false, 2])
  // The takeover reached the former server, which can still be written.
  ends[1]?.(ORIGIN)
  await setImmediate()
  expect([await checkOrigin(check, standby), ends.length]).toEqual([false, 3])
  ends[2]?.(standby)
  await setImmediate()
  expect([await checkOrigin(check, standby), ends.length]).toEqual([true, 3])
})

describe('a new connection', () => {
  it.each([
    ['to the same database', [ORIGIN, ORIGIN], 0],
    ['to a standby that took over', [ORIGIN, '7000.00000002.5.16384'], 1],
    ['to another server', [ORIGIN, '7001.00000001.5.16384'], 1],
    ['to a dump that was restored', [ORIGIN, '7000.00000001.5.16500'], 1],
    ['to the same database by a user who lost a right', [ORIGIN, '5.16384'], 0],
    ['to the same database by a user who got a right', ['5.16384', ORIGIN], 0],
    [
      'to a standby that took over, after a user lost a right for a while',
      [ORIGIN, '5.16384', '7000.00000002.5.16384'],
      1,
    ],
    ['to a restored dump by a user who lost a right', [ORIGIN, '6.16384'], 1],
  ])('%s', async (_, origins, replaced) => {
    expect(await countReplaced(origins)).toBe(replaced)
  })

  it('to a standby that has every commit leads to the same database, and one of an earlier timeline does not', async () => {
    expect(await countReplaced([ORIGIN, '7000.00000002.5.16384'], true)).toBe(0)
    expect(await countReplaced(['7000.00000002.5.16384', ORIGIN], true)).toBe(1)
  })
})

/** Opens a database that says it has the origin, until it is moved to another. */
async function openDatabaseOf(first: string) {
  const inner = await openTestStore<GenerationCollections>([
    { id: 'generation-0001', statements: generationCollection },
  ])
  onTestFinished(() => inner.close())
  let current = first
  const store: Store<GenerationCollections> = { ...inner, compareOrigins, readOrigin: () => Promise.resolve(current) }
  const moveTo = (origin: string): void => {
    current = origin
  }
  return { store, effects: { store, now: () => new Date(0), random: randomBytes, retryOnConflict }, moveTo }
}

it.each<[string, string, OriginComparison, string?]>([
  ['by a user who got a right', '7000.00000003.5.16384', 'same'],
  ['by a user who has fewer rights', '5.16384', 'same'],
  ['of a standby that took over', '7000.00000003.5.16384', 'later timeline', '7000.00000002.5.16384'],
  ['of another server with a later timeline', '7001.00000003.5.16384', 'copy', '7000.00000002.5.16384'],
] as const)(
  'an origin %s is compared with that of the generation',
  async (_, origin, comparison, earlier = '5.16384') => {
    const { store, effects, moveTo } = await openDatabaseOf(earlier)
    const generation = await getCurrentGeneration(effects)
    moveTo(origin)
    expect(compareOrigins(earlier, origin)).toBe(comparison)
    expect((await findUnnoticedRestore(store, { number: 0 })) === undefined).toBe(comparison === 'same')
    expect((await getCurrentGeneration(effects)) === generation).toBe(comparison === 'same')
  },
)

it.each([
  ['5.16384', ORIGIN],
  [ORIGIN, '5.16384'],
])('a takeover is noticed after a right of the user changed from %s to %s', async (before, between) => {
  const { store, effects, moveTo } = await openDatabaseOf(before)
  await getCurrentGeneration(effects)
  moveTo(between)
  const generation = await getCurrentGeneration(effects)
  expect(await confirmGeneration(effects, { number: 0 })).toBe(undefined)
  moveTo('7000.00000002.5.16384')
  expect(await findUnnoticedRestore(store, { number: 0 })).toMatch(/a standby of its server took over/)
  expect(await getCurrentGeneration(effects)).not.toBe(generation)
})
