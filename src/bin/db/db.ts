/** `vouchsafe db`: backs up, restores, copies, migrates and describes a database. */

import { readConfiguredService } from '../service/configured-service.ts'
import { readSubcommand, type Subcommand, UsageError } from '../terminal/command-line.ts'
import { type CommandResult, printResult } from '../terminal/command-result.ts'
import { createRowReport, type Tell, tellNothing } from './progress.ts'

/** Runs `vouchsafe db` with the words after it. */
export async function runDb(args: string[]): Promise<void> {
  // Backups contain the same data as the database, so they are private too.
  process.umask(0o077)
  const { subcommand, rest, values } = readSubcommand('db', args)
  printResult(await runSubcommand(subcommand, rest, values), values.json)
}

async function runCopy({ from, to, service, json }: Values): Promise<CommandResult> {
  if (from === undefined || to === undefined) throw new UsageError('db', 'db copy: name --from and --to')
  return (await import('./copy.ts')).copyDatabase({ from, to, service }, createRowReport(tellOf(json)))
}

/** Returns what shows the progress of the work: on stderr, and nothing with `--json`. */
function tellOf(json: boolean): Tell {
  return json ? tellNothing : (text) => process.stderr.write(`${text}\n`)
}

type Values = ReturnType<typeof readSubcommand<'db'>>['values']

async function runSubcommand(
  word: Subcommand<'db'>,
  [file, ...more]: readonly string[],
  values: Values,
): Promise<CommandResult> {
  const takesFile = word === 'backup' || word === 'restore'
  const unexpected = takesFile ? more[0] : file
  if (unexpected !== undefined) {
    const words = takesFile ? `db ${word} takes one file` : `db ${word} takes no file`
    throw new UsageError('db', `${words}; leave out ${unexpected}`)
  }
  if (takesFile && file === undefined) throw new UsageError('db', `name the file: db ${word} FILE`)
  const tell = tellOf(values.json)
  switch (word) {
    case 'backup':
      return (await import('./backup.ts')).backUp(await readConfiguredService(values), file ?? '', tell)
    case 'restore':
      return (await import('./restore.ts')).restoreBackup(await readConfiguredService(values), file ?? '', tell)
    case 'status':
      return (await import('./status.ts')).describeDatabaseState(await readConfiguredService(values))
    case 'migrate':
      return (await import('./migrate.ts')).migrateSchema(await readConfiguredService(values), values.check)
    case 'compact':
      return (await import('./compact.ts')).compactDatabase(await readConfiguredService(values))
    case 'copy':
      return runCopy(values)
  }
}
