/**
 * The generation of a database: another one begins when a backup is put in its place. What was given out after the backup was made is
 * unknown to it; whatever must not be given out twice is bound to the generation in which it was. docs/decisions/0010-generations.md.
 */
import { toBase64url } from '../codec/base64url.ts'
import { createCollection, type Row, type Store } from './store.ts'

export interface DatabaseGeneration {
  /** Random, so that no two are alike, also of databases that were restored from one backup. */
  readonly id: string
  /** The setting `database.generation` when it began. */
  readonly number: number
  /** The {@link Store.origin} when it began. */
  readonly origin: string
  /** The text that is kept outside of the database as well, where there is such a place. */
  readonly witness?: string
}

export type GenerationCollections = {
  /** The generation of this database, as the one row `current`. */
  generation: DatabaseGeneration
}

export const generationCollection = createCollection('generation')

const CURRENT = 'current'

type GenerationStore = Pick<Store<GenerationCollections>, 'get' | 'commit' | 'origin'>
type Random = (bytes: number) => Uint8Array

/**
 * The id of the generation that the database is in. A database that is not where the generation began, since it is a copy, gets a new one,
 * and so does one that has none: the same for every process. To be asked each time that something is given out for good.
 */
export async function currentGeneration(store: GenerationStore, random: Random): Promise<string> {
  for (;;) {
    const row = await store.get('generation', CURRENT)
    const origin = await store.origin()
    if (row?.value.origin === origin) return row.value.id
    const value = { number: 0, ...row?.value, id: newId(random), origin }
    if (await replace(store, row, value)) return value.id
  }
}

/** Facts about the database that are known outside of it when a service starts. */
export interface OutsideKnowledge {
  /** The setting `database.generation`. */
  readonly number: number
  /**
   * The text that is to be kept outside from now on, and those that may have been since the last start: one, or two after a start that was
   * cut off. Absent where there is no such place.
   */
  readonly witness?: { readonly kept: readonly string[]; readonly next: string } | undefined
}

/**
 * Holds the database against what is known outside of it, and begins another generation when it is a copy that was put in its place. Gives
 * why that is so, in words; undefined when the generation goes on, or is the first. Throws when the database has had a higher number.
 */
export async function confirmGeneration(
  store: GenerationStore,
  { number, witness }: OutsideKnowledge,
  random: Random,
): Promise<string | undefined> {
  for (;;) {
    const row = await store.get('generation', CURRENT)
    const origin = await store.origin()
    if (row !== undefined && row.value.number > number) {
      throw new Error(`the database is of generation ${row.value.number}; set database.generation to that, or to more`)
    }
    const why = row && restoredBecause(row.value, { number, witness, origin })
    const id = row === undefined || why !== undefined ? newId(random) : row.value.id
    const value = { id, number, origin, ...(witness && { witness: witness.next }) }
    if (await replace(store, row, value)) return why
  }
}

function restoredBecause(
  known: DatabaseGeneration,
  { number, witness, origin }: OutsideKnowledge & { readonly origin: string },
): string | undefined {
  if (known.origin !== origin) return 'it is a copy of the database that it was'
  if (known.number < number) return 'database.generation is higher than it was'
  if (witness !== undefined && !witness.kept.some((kept) => kept === known.witness))
    return 'the file beside it is of another state of it'
  return undefined
}

/** Makes sure that the database can be written, by writing to it. Rejects when it cannot. */
export async function checkWritable(store: Store<GenerationCollections>, random: Random): Promise<void> {
  await store.checkMedium?.()
  const failed = await store.commit([{ touch: 'generation', id: CURRENT }])
  // There is no generation yet: to begin one is to write.
  if (failed !== undefined) await currentGeneration(store, random)
}

async function replace(
  store: GenerationStore,
  row: Row<DatabaseGeneration> | undefined,
  value: DatabaseGeneration,
): Promise<boolean> {
  const failed = await store.commit([
    row === undefined
      ? { insert: 'generation', id: CURRENT, value }
      : { update: 'generation', id: CURRENT, version: row.version, value },
  ])
  return failed === undefined
}

function newId(random: Random): string {
  return toBase64url(random(16))
}
