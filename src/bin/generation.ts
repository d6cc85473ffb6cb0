/**
 * The generation of a database as it is known outside of it: by a file beside an embedded database, and by the setting
 * `database.generation`. docs/decisions/0010-generations.md.
 */
import { toBase64url } from '../codec/base64url.ts'
import type { DatabaseConfig } from '../config/database.ts'
import { confirmGeneration, type GenerationCollections } from '../store/generation.ts'
import type { Store } from '../store/store.ts'
import { now, random, retryOnConflict } from './effects.ts'
import { generationFile, readWitnesses, writeWitnesses } from './generation-file.ts'
import type { OpeningTerms } from './service-kind.ts'

/**
 * Compares the open database with the knowledge outside of it. A copy, or what may be one, is logged and begins another
 * generation. Throws a message for the operator when the setting is lower than the generation in the database.
 */
export async function confirmDatabase(
  store: Store<GenerationCollections>,
  database: DatabaseConfig,
  { log, isRestored = false }: OpeningTerms,
): Promise<void> {
  const { generation: number = 0 } = database
  const file = database.kind === 'sqlite' && database.file !== ':memory:' ? generationFile(database.file) : undefined
  const previous = file === undefined ? [] : readWitnesses(file)
  const next = toBase64url(random(16))
  // The file has both generations while the database changes, as the process may end in between.
  if (file !== undefined) writeWitnesses(file, [...previous, next])
  const witness = file === undefined ? undefined : { previous, next }
  const hasSynchronousStandbys = database.kind === 'postgresql' && database.hasSynchronousStandbys === true
  const outside = { number, witness, isRestored, hasSynchronousStandbys }
  const why = await confirmGeneration({ store, now, random, retryOnConflict }, outside)
  if (file !== undefined) writeWitnesses(file, [next])
  if (why === undefined) return
  const line = { event: 'database_restored', why }
  log.warn(
    line,
    'the database may be without the newest of what was answered: new status lists are begun, and what was open is void',
  )
}
