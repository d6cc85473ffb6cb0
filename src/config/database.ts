/** `database`: the seeds' settings, of which `url` decides. Without it the embedded database file is used. */
import type { Static } from 'typebox'
import * as Type from 'typebox'

export const Database = Type.Object(
  {
    persistenceUnitName: Type.Optional(Type.String({ description: 'A name for people; it changes nothing' })),
    driver: Type.Optional(Type.String({ description: 'Must agree with url; url decides' })),
    url: Type.Optional(
      Type.String({
        description: 'jdbc:sqlite:path or sqlite:path; data/issuer.db or data/verifier.db when database is absent',
      }),
    ),
    user: Type.Optional(Type.String({ description: 'Not used by SQLite' })),
    password: Type.Optional(Type.String({ description: 'Not used by SQLite' })),
  },
  { additionalProperties: false },
)
type Database = Static<typeof Database>

export function databaseMistakes(database: Database | undefined): string[] {
  if (database === undefined) return []
  const { url, driver } = database
  if (url === undefined) return ['database.url: required; write sqlite:data/service.db, or leave database out']
  if (/^(jdbc:)?postgres(ql)?:/i.test(url)) return ['database.url: PostgreSQL is not yet supported; use sqlite:path']
  const mistakes: string[] = []
  if (!databaseFile(database)) mistakes.push('database.url: it must be sqlite:path or jdbc:sqlite:path')
  if (driver !== undefined && !/sqlite/i.test(driver)) {
    mistakes.push(`database.driver: ${driver} contradicts database.url, which is SQLite; leave driver out`)
  }
  return mistakes
}

/** The file that `url` names, or undefined when there is no `database`. */
export function databaseFile(database: Database | undefined): string | undefined {
  return /^(?:jdbc:)?sqlite:(?:\/\/(?=\/))?(.+)$/.exec(database?.url ?? '')?.[1]
}
