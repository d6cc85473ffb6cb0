/**
 * What of the generation of a database is known outside of it: a file beside an embedded database, and the setting `database.generation`.
 * docs/decisions/0010-generations.md.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { toBase64url } from '../codec/base64url.ts'
import type { DatabaseConfig } from '../config/database.ts'
import { confirmGeneration, type GenerationCollections } from '../store/generation.ts'
import type { Store } from '../store/store.ts'
import { random } from './effects.ts'

/** The file that stands beside an embedded database, and is no part of its backups. */
export function generationFile(databaseFile: string): string {
  return `${databaseFile}-generation`
}

/**
 * Holds the open database against what is known outside of it. The log says so when a backup was put back, and another generation begins.
 * Throws in words when the setting is lower than the database has had it.
 */
export async function confirmDatabase(
  store: Store<GenerationCollections>,
  database: DatabaseConfig,
  log: Logger,
): Promise<void> {
  const { generation: number = 0 } = database
  const file = database.kind === 'sqlite' && database.file !== ':memory:' ? generationFile(database.file) : undefined
  const kept = file === undefined ? [] : readWitness(file)
  const next = toBase64url(random(16))
  // Both are in the file while the database changes from one to the other, as the process may end between the two.
  if (file !== undefined) writeWitness(file, [...kept, next])
  const witness = file === undefined ? undefined : { kept, next }
  const why = await confirmGeneration(store, { number, witness }, random)
  if (file !== undefined) writeWitness(file, [next])
  if (why === undefined) return
  const line = { event: 'database_restored', why }
  log.warn(
    line,
    'a backup was put back: new status lists are begun, and what was given out since it was made is not known',
  )
}

/** The texts of the file; none when it is not there, or is a copy: it has in it which file it is. */
function readWitness(file: string): readonly string[] {
  try {
    const [identity, ...witnesses] = readFileSync(file, 'utf8').trimEnd().split('\n')
    return identity === identityOf(file) ? witnesses : []
  } catch {
    return []
  }
}

/** A file keeps its number and when it was made as long as nobody makes another in its place. */
function identityOf(file: string): string {
  const { ino, birthtimeNs } = statSync(file, { bigint: true })
  return `${ino}.${birthtimeNs}`
}

function writeWitness(file: string, witnesses: readonly string[]): void {
  const made = `${file}.${process.pid}`
  writeFileSync(made, '', { mode: 0o600 })
  writeFileSync(made, `${[identityOf(made), ...witnesses].join('\n')}\n`)
  renameSync(made, file)
}
