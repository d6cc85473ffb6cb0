/** `vouchsafe db compact`: rewrites the file of an embedded database without unused space. */
import { statSync } from 'node:fs'
import { describeDatabase } from '../../config/database.ts'
import { compactSqlite } from '../../store/sqlite-compact.ts'
import { refuseDamagedFile, refuseMissingFile, refuseWhileOpen } from '../embedded-database/file-refusals.ts'
import { throwAt } from '../embedded-database/storage-advice.ts'
import type { ConfiguredService } from '../service/configured-service.ts'
import { bytesText, type CommandResult } from '../terminal/command-result.ts'

/** Compacts the database. Throws a message for the operator; the database is then unchanged. */
export async function compactDatabase({ config: { database, port } }: ConfiguredService): Promise<CommandResult> {
  if (database.kind === 'postgresql') {
    throw new Error(`${describeDatabase(database)}: PostgreSQL clears up by itself (autovacuum); this is for SQLite`)
  }
  const { file } = database
  refuseMissingFile(file)
  await refuseWhileOpen(file, port)
  await refuseDamagedFile(file)
  const bytesBefore = statSync(file).size
  await compactSqlite(file).catch(throwAt(`${file}: not compacted`))
  const bytes = statSync(file).size
  return {
    text: `${file} has ${bytesText(bytes)}, and had ${bytesText(bytesBefore)}; nothing that was deleted is in it.`,
    facts: { database: file, bytes, before: bytesBefore },
  }
}
