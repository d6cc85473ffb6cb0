import { describe, expect, it } from 'vitest'
import { selectMissingMigrations } from './statements.ts'
import { selectAppliedMigrations } from './tables.ts'

const MIGRATIONS = [{ id: 'a-0001', statements: [] }]

describe('a service that opens a database, and a command that copies one, say the same', () => {
  it.each([
    [
      'of migrations that they do not know',
      ['a-0001', 'b-0001', 'b-0002'],
      'the database is of a newer release or of another service (it has b-0001); use the release that made it, and give each service one of its own',
    ],
    [
      'of a copy that has not ended',
      ['b-0001', 'unfinished-copy'],
      'a copy into the database has not ended; run the same vouchsafe db copy again, or empty the database and copy anew',
    ],
  ])('%s', (_, appliedMigrations, problem) => {
    expect(() => selectMissingMigrations(appliedMigrations, MIGRATIONS)).toThrow(new Error(problem))
    expect(() => selectAppliedMigrations({ appliedMigrations }, MIGRATIONS)).toThrow(new Error(problem))
  })
})
