/** `vouchsafe status-list`: exports the lists of an issuer, and revokes unknown credentials after a restore. */
import { readSubcommand, UsageError } from '../terminal/command-line.ts'
import { type CommandResult, printResult } from '../terminal/command-result.ts'
import { exportLists } from './export-lists.ts'
import { runRevokeUnknown } from './revoke-unknown.ts'

/** Runs `vouchsafe status-list` with the words after it. */
export async function runStatusList(args: string[]): Promise<void> {
  const { subcommand, rest, values } = readSubcommand('status-list', args)
  const run = subcommand === 'export' ? runExport : revokeUnknown
  printResult(await run(values.config, rest), values.json)
}

function runExport(configFile: string, [directory, ...more]: readonly string[]): Promise<CommandResult> {
  if (directory === undefined || more.length > 0)
    throw new UsageError('status-list', 'name one directory: status-list export DIRECTORY')
  return exportLists(configFile, directory)
}

function revokeUnknown(configFile: string, more: readonly string[]): Promise<CommandResult> {
  if (more.length > 0) throw new UsageError('status-list', 'status-list revoke-unknown takes nothing')
  return runRevokeUnknown(configFile)
}
