/**
 * The generation of a database: another one begins when a backup is put in its place. What was given out after the
 * backup was made is unknown to it; whatever must not be given out twice is bound to the generation in which it was.
 * docs/decisions/0010-generations.md.
 */
import { toBase64url } from '../codec/base64url.ts'
import type { RetryOnConflict } from './retry.ts'
import { type Change, createCollection, type Row, type Store, type UpdateEffects, updateWith } from './store.ts'

export interface DatabaseGeneration {
  /** A random id, so that no two generations are alike, also of databases that were restored from one backup. */
  readonly id: string
  /** The setting `database.generation` when it began. */
  readonly number: number
  /** The {@link Store.readOrigin} when it began. */
  readonly origin: string
  /** Whether the setting said at the last start that a standby which takes over has all that was committed. */
  readonly hasSynchronousStandbys?: true
  /** The text that is kept outside of the database as well, where there is such a place. */
  readonly witness?: string
  /** The time at which a service last noticed that the database is a copy; milliseconds since the epoch. */
  readonly restoredAt?: number
  /** Whether the sessions that were open at that time still have to be made void. */
  readonly hasOpen?: true
}

export type GenerationCollections = {
  /** The generation of this database, as the one row `current`. */
  generation: DatabaseGeneration
}

export const generationCollection = createCollection('generation')

const CURRENT = 'current'

export interface GenerationEffects {
  readonly store: Store<GenerationCollections>
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly retryOnConflict: RetryOnConflict
}

/** Reads the generation as it stands in the database; undefined before the first. */
export async function readGeneration(
  store: Pick<GenerationEffects['store'], 'get'>,
): Promise<DatabaseGeneration | undefined> {
  return (await store.get('generation', CURRENT))?.value
}

/**
 * Returns the id of the generation that the database is in. A database that is not where the generation began, since it
 * is a copy, gets a new one, and so does one that has none: the same for every process. A synchronous standby that took
 * over is where it was. Callers ask each time that they give something out for good.
 */
export function getCurrentGeneration({ store, now, random, retryOnConflict }: GenerationEffects): Promise<string> {
  return retryOnConflict<string>(async () => {
    const row = await store.get('generation', CURRENT)
    const origin = await store.readOrigin()
    if (row?.value.origin === origin) return { committed: row.value.id }
    const value =
      row !== undefined && isPromoted(store, row.value, origin)
        ? { ...row.value, origin }
        : { number: 0, ...row?.value, id: newId(random), origin, ...(row && restoredMembers(now())) }
    const conflict = await replaceGeneration(store, row, value)
    return conflict === undefined ? { committed: value.id } : { conflict }
  })
}

/** Facts about the database that are known outside of it when a service starts. */
export interface OutsideKnowledge {
  /** The setting `database.generation`. */
  readonly number: number
  /**
   * The texts that may have been kept outside since the last start: one, or two after a start that was cut off. Absent
   * where there is no such place.
   */
  readonly witnesses?: readonly string[] | undefined
  /** The reason, in words, for which it is certain that the database may be without the newest of what was answered. */
  readonly restoredBecause?: string | undefined
  /** The setting `database.synchronousStandbys`, which counts from the next change of the server on. */
  readonly hasSynchronousStandbys?: boolean | undefined
}

/**
 * Compares the database with what is known outside of it, and begins another generation when it is a copy that was put
 * in its place. `nextWitness` is the text that is kept outside from now on, where there is such a place. Returns the
 * reason to believe that it is a copy, in words; undefined when the generation goes on, or is the first. Throws when
 * the database has had a higher number.
 */
export function confirmGeneration(
  { store, now, random, retryOnConflict }: GenerationEffects,
  outside: OutsideKnowledge,
  nextWitness?: string,
): Promise<string | undefined> {
  const { number } = outside
  return retryOnConflict<string | undefined>(async () => {
    const row = await store.get('generation', CURRENT)
    const origin = await store.readOrigin()
    if (row !== undefined && row.value.number > number) {
      throw new Error(`the database is of generation ${row.value.number}; set database.generation to that, or to more`)
    }
    const reason =
      row === undefined ? outside.restoredBecause : restorationReason(store, row.value, { ...outside, origin })
    const isSameGeneration = row !== undefined && reason === undefined
    const value = {
      ...(isSameGeneration ? lastingMembers(row.value) : { id: newId(random), ...(row && restoredMembers(now())) }),
      number,
      origin,
      ...(nextWitness !== undefined && { witness: nextWitness }),
      ...(outside.hasSynchronousStandbys && { hasSynchronousStandbys: true as const }),
    }
    const conflict = await replaceGeneration(store, row, value)
    return conflict === undefined ? { committed: reason } : { conflict }
  })
}

/**
 * Returns the reason, in words, to believe that the database is a copy which no service has started on yet; undefined
 * when there is none. Changes nothing.
 */
export async function findUnnoticedRestore(
  store: GenerationEffects['store'],
  outside: OutsideKnowledge,
): Promise<string | undefined> {
  const generation = await readGeneration(store)
  return generation && restorationReason(store, generation, { ...outside, origin: await store.readOrigin() })
}

/** The steps that a service takes once in a database that is a copy. */
export interface RestoreSteps<C, T> {
  /** Makes void what was open; is called again where it did not end. `restoredAt` is when the copy was noticed. */
  readonly voidOpen: (restoredAt: Date) => Promise<T>
  /** Makes the changes that record the restore, which are committed once. */
  readonly recordRestore: (generationId: string) => readonly Change<C>[]
}

/**
 * Makes void what was open in a database that is a copy, and records the restore; once. Returns the result of
 * `voidOpen`, or undefined in any other database.
 */
export async function finishRestore<C extends GenerationCollections, T>(
  { store, retryOnConflict }: UpdateEffects<C>,
  { voidOpen, recordRestore }: RestoreSteps<C, T>,
): Promise<T | undefined> {
  const restoredGeneration = (await store.get('generation', CURRENT))?.value
  if (restoredGeneration?.hasOpen !== true) return undefined
  const result = await voidOpen(new Date(restoredGeneration.restoredAt ?? 0))
  await updateWith<C, 'generation'>({ store, retryOnConflict }, 'generation', CURRENT, (value) => {
    const { hasOpen, ...generation } = value
    return generation.id === restoredGeneration.id && hasOpen
      ? { value: generation as C['generation'], otherChanges: recordRestore(generation.id) }
      : { value }
  })
  return result
}

function lastingMembers({ id, restoredAt, hasOpen }: DatabaseGeneration) {
  return { id, ...(restoredAt !== undefined && { restoredAt }), ...(hasOpen && { hasOpen }) }
}

function restoredMembers(at: Date): Pick<DatabaseGeneration, 'restoredAt' | 'hasOpen'> {
  return { restoredAt: at.getTime(), hasOpen: true }
}

function restorationReason(
  store: GenerationEffects['store'],
  generation: DatabaseGeneration,
  outside: OutsideKnowledge & { readonly origin: string },
): string | undefined {
  const { number, witnesses, origin, restoredBecause } = outside
  if (restoredBecause !== undefined) return restoredBecause
  if (generation.origin !== origin && !(outside.hasSynchronousStandbys && isPromoted(store, generation, origin))) {
    return store.isLaterTimeline?.(generation.origin, origin) === true
      ? 'a standby of its server took over, or a point in time was recovered'
      : 'it is a copy of the database that it was'
  }
  if (generation.number < number) return 'database.generation is higher than it was'
  if (witnesses !== undefined && !witnesses.some((each) => each === generation.witness))
    return 'the file beside it is of another state of it'
  return undefined
}

/** Tests whether the database is where it was, but on a standby that took over with all that was committed. */
function isPromoted(store: GenerationEffects['store'], generation: DatabaseGeneration, origin: string): boolean {
  return generation.hasSynchronousStandbys === true && store.isLaterTimeline?.(generation.origin, origin) === true
}

/** Makes sure that the database can be written, by writing to it. Rejects when it cannot. */
export async function checkWritable(effects: GenerationEffects): Promise<void> {
  const { store } = effects
  await store.checkMedium?.()
  const conflict = await store.commit([{ touch: 'generation', id: CURRENT }])
  // There is no generation yet: to begin one is to write.
  if (conflict !== undefined) await getCurrentGeneration(effects)
}

function replaceGeneration(
  store: Store<GenerationCollections>,
  row: Row<DatabaseGeneration> | undefined,
  value: DatabaseGeneration,
): Promise<Change<GenerationCollections> | undefined> {
  return store.commit([
    row === undefined
      ? { insert: 'generation', id: CURRENT, value }
      : { update: 'generation', id: CURRENT, version: row.version, value },
  ])
}

function newId(random: GenerationEffects['random']): string {
  return toBase64url(random(16))
}
