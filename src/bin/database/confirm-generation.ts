/**
 * Detects a restored database, by the file beside an embedded database and by the setting `database.generation`.
 * docs/decisions/0010-generations.md.
 */
import { toBase64url } from '../../codec/base64url.ts'
import type { DatabaseConfig } from '../../config/database.ts'
import {
  confirmGeneration,
  type ExternalState,
  findUnnoticedRestore,
  type GenerationCollections,
} from '../../store/generation.ts'
import type { Store } from '../../store/store.ts'
import { now, random, retryOnConflict } from '../effects.ts'
import { generationFile, readWitnesses, WAL_MISSING, writeWitnesses } from '../embedded-database/generation-file.ts'
import type { OpeningOptions } from '../service/service-kind.ts'

/**
 * Compares the open database with the generation file and the setting. If the database is, or may be, a restored copy,
 * logs this and starts a new generation. Throws a message for the operator if the setting is lower than the generation
 * in the database.
 */
export async function confirmDatabase(
  store: Store<GenerationCollections>,
  database: DatabaseConfig,
  { log, isRestored, consequence = 'new status lists are started, and open sessions end' }: OpeningOptions,
  isWalMissing = false,
): Promise<void> {
  const file = witnessFile(database)
  const restoredBecause = isRestored ? 'it was restored from a backup' : isWalMissing ? WAL_MISSING : undefined
  const external = { ...readExternalState(database), restoredBecause }
  const next = toBase64url(random(16))
  // During the change, the generation file has the witnesses of both, since the process may end in between.
  if (file !== undefined)
    writeWitnesses(file, [...(external.witnesses ?? []), next], isWalMissing ? 'log-missing' : 'open')
  const effects = { store, now, random, retryOnConflict }
  const why = await confirmGeneration(effects, external, next)
  if (file !== undefined) writeWitnesses(file, [next], 'open')
  if (why === undefined) return
  const line = { event: 'database_restored', why }
  log.warn(line, `the database may be an older copy, without the newest changes: ${consequence}`)
}

/** Throws a message for the operator if the database was restored and no service has started since. */
export async function refuseUnnoticedRestore(
  store: Store<GenerationCollections>,
  database: DatabaseConfig,
): Promise<void> {
  const why = await findUnnoticedRestore(store, readExternalState(database))
  if (why === undefined) return
  throw new Error(`no service has started on this database since it was put back (${why}); start the service first`)
}

function witnessFile(database: DatabaseConfig): string | undefined {
  return database.kind === 'sqlite' && database.file !== ':memory:' ? generationFile(database.file) : undefined
}

/** Reads what the generation file and the setting say about the database. */
export function readExternalState(database: DatabaseConfig): ExternalState {
  const file = witnessFile(database)
  return {
    number: database.generation ?? 0,
    witnesses: file === undefined ? undefined : readWitnesses(file),
    hasSynchronousStandbys: database.kind === 'postgresql' && database.hasSynchronousStandbys === true,
  }
}
