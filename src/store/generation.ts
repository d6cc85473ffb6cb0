/**
 * The generation of a database: an id that is replaced when the database is replaced by a backup. A restored database
 * lacks everything that was issued after the backup was made, so a value that must never be issued twice carries the id
 * of the generation in which it was issued. docs/decisions/0010-generations.md.
 */
import { toBase64url } from '../codec/base64url.ts'
import type { RetryOnConflict } from './retry.ts'
import {
  type Change,
  createCollection,
  insertOrUpdate,
  type OriginComparison,
  type Row,
  type Store,
  type UpdateEffects,
  updateWith,
} from './store.ts'

export interface DatabaseGeneration {
  /** A random id. Two databases that are restored from one backup get different ids. */
  readonly id: string
  /** The value of the setting `database.generation` when the generation began. */
  readonly number: number
  /** The result of {@link Store.readOrigin} for this database. Another result means that the database is a copy. */
  readonly origin: string
  /**
   * Whether the setting `database.synchronousStandbys` was on at the last start: a standby that takes over then has
   * every commit.
   */
  readonly hasSynchronousStandbys?: true
  /**
   * A random text of the last start. It is also stored outside of the database, where there is such a place; elsewhere
   * it tells a process whether another one has started since.
   */
  readonly witness?: string
  /** The time at which a service last detected that the database is a copy; milliseconds since the epoch. */
  readonly restoredAt?: number
  /** Whether the sessions that were open at `restoredAt` still have to be voided. */
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

/** Reads the current generation from the database; undefined before the first one begins. */
export async function readGeneration(
  store: Pick<GenerationEffects['store'], 'get'>,
): Promise<DatabaseGeneration | undefined> {
  return (await store.get('generation', CURRENT))?.value
}

/**
 * Returns the id of the current generation, which is the same for every process. Begins a new generation where the
 * database has none, or where the origin has changed because the database is a copy. A synchronous standby that took
 * over keeps the generation. A value that must never be issued twice is issued under this id.
 */
export function getCurrentGeneration({ store, now, random, retryOnConflict }: GenerationEffects): Promise<string> {
  return retryOnConflict<string>(async () => {
    const row = await store.get('generation', CURRENT)
    const origin = await store.readOrigin()
    const comparison = row && compareWithGeneration(store, row.value, origin)
    if (row !== undefined && comparison === 'same' && origin.length <= row.value.origin.length)
      return { committed: row.value.id }
    const value =
      row !== undefined && (comparison === 'same' || isTrustedTakeover(row.value, comparison))
        ? { ...row.value, origin }
        : { number: 0, ...row?.value, id: newId(random), origin, ...(row && restoredMembers(now())) }
    const conflict = await replaceGeneration(store, row, value)
    return conflict === undefined ? { committed: value.id } : { conflict }
  })
}

/** Facts about the database that are known outside of it when a service starts. */
export interface ExternalState {
  /** The setting `database.generation`. */
  readonly number: number
  /**
   * The texts that may have been stored outside by the last start: one, or two when that start was interrupted. Absent
   * where there is no such place.
   */
  readonly witnesses?: readonly string[] | undefined
  /**
   * The reason, in words, to treat the database as restored whatever else is known: it may lack the newest commits that
   * were answered.
   */
  readonly restoredBecause?: string | undefined
  /** The setting `database.synchronousStandbys`. A takeover is trusted only if the setting was on before it as well. */
  readonly hasSynchronousStandbys?: boolean | undefined
}

/**
 * Compares the database with the facts that are known outside of it, and begins a new generation if the database is a
 * copy. Called at the start of a service. Stores `nextWitness`, the text of this start. Returns the reason, in words,
 * to take the database for a copy; undefined when the generation continues, or is the first of a database that nothing
 * shows to be restored. Throws when the database has a higher generation number than the setting.
 */
export function confirmGeneration(
  { store, now, random, retryOnConflict }: GenerationEffects,
  external: ExternalState,
  nextWitness?: string,
): Promise<string | undefined> {
  const { number } = external
  return retryOnConflict<string | undefined>(async () => {
    const row = await store.get('generation', CURRENT)
    const origin = await store.readOrigin()
    if (row !== undefined && row.value.number > number) {
      throw new Error(`the database is of generation ${row.value.number}; set database.generation to that, or to more`)
    }
    const reason =
      row === undefined ? external.restoredBecause : findRestoreReason(store, row.value, { ...external, origin })
    const isSameGeneration = row !== undefined && reason === undefined
    const value = {
      ...(isSameGeneration
        ? lastingMembers(row.value)
        : { id: newId(random), ...(reason !== undefined && restoredMembers(now())) }),
      number,
      origin: isSameGeneration && row.value.origin.length > origin.length ? row.value.origin : origin,
      ...(nextWitness !== undefined && { witness: nextWitness }),
      ...(external.hasSynchronousStandbys && { hasSynchronousStandbys: true as const }),
    }
    const conflict = await replaceGeneration(store, row, value)
    return conflict === undefined ? { committed: reason } : { conflict }
  })
}

/**
 * Returns the reason, in words, to take the database for a copy that no service has started on yet; undefined when
 * there is none. Writes nothing.
 */
export async function findUnnoticedRestore(
  store: GenerationEffects['store'],
  external: ExternalState,
): Promise<string | undefined> {
  const generation = await readGeneration(store)
  return generation && findRestoreReason(store, generation, { ...external, origin: await store.readOrigin() })
}

/** The steps that a service runs once after it detected that the database is a copy. */
export interface RestoreSteps<C, T> {
  /**
   * Voids the sessions that were open. Called again after an interrupted run. `restoredAt` is the time at which the
   * copy was detected.
   */
  readonly voidOpen: (restoredAt: Date) => Promise<T>
  /** Returns the changes that record the restore; they are committed exactly once. */
  readonly recordRestore: (generationId: string) => readonly Change<C>[]
}

/**
 * Runs the steps once in a database that is a copy. Returns the result of `voidOpen`; undefined when the database is
 * not a copy, or the steps have run before.
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

/** Returns the reason, in words, to take a database with this generation for a copy; undefined when there is none. */
export function findRestoreReason(
  store: Pick<GenerationEffects['store'], 'compareOrigins'>,
  generation: DatabaseGeneration,
  external: ExternalState & { readonly origin: string },
): string | undefined {
  const { number, witnesses, origin, restoredBecause } = external
  if (restoredBecause !== undefined) return restoredBecause
  const comparison = compareWithGeneration(store, generation, origin)
  if (comparison === 'copy') return 'it is a copy of the database that it was'
  const isTrusted = external.hasSynchronousStandbys === true && isTrustedTakeover(generation, comparison)
  if (comparison === 'later timeline' && !isTrusted)
    return 'a standby of its server took over, or a point in time was recovered'
  if (generation.number < number) return 'database.generation is higher than it was'
  if (witnesses !== undefined && !witnesses.some((each) => each === generation.witness))
    return 'the file beside it is of another state of it'
  return undefined
}

/** Tests whether a synchronous standby took over, which has every commit. */
function isTrustedTakeover({ hasSynchronousStandbys }: DatabaseGeneration, comparison?: OriginComparison): boolean {
  return hasSynchronousStandbys === true && comparison === 'later timeline'
}

function compareWithGeneration(
  store: Pick<GenerationEffects['store'], 'compareOrigins'>,
  generation: DatabaseGeneration,
  origin: string,
): OriginComparison {
  if (generation.origin === origin) return 'same'
  return store.compareOrigins?.(generation.origin, origin) ?? 'copy'
}

/** Checks that the database accepts writes, by writing to it. Rejects when it does not. */
export async function checkWritable(effects: GenerationEffects): Promise<void> {
  const { store } = effects
  await store.checkDisk?.()
  const conflict = await store.commit([{ touch: 'generation', id: CURRENT }])
  // There is no generation yet; beginning one is a write as well.
  if (conflict !== undefined) await getCurrentGeneration(effects)
}

function replaceGeneration(
  store: Store<GenerationCollections>,
  row: Row<DatabaseGeneration> | undefined,
  value: DatabaseGeneration,
): Promise<Change<GenerationCollections> | undefined> {
  return store.commit([insertOrUpdate('generation', row, { id: CURRENT, value })])
}

function newId(random: GenerationEffects['random']): string {
  return toBase64url(random(16))
}
