/** `vouchsafe status-list`: exports the lists of an issuer, and revokes unknown credentials after a restore. */
import { readWords, UsageError } from '../command-line.ts'
import type { CommandResult } from '../command-result.ts'
import { exportLists } from './export-lists.ts'
import { runRevokeUnknown } from './revoke-unknown.ts'

/** Runs `vouchsafe status-list` with the words after it. */
export async function runStatusList(args: string[]): Promise<void> {
  const { values, positionals } = readWords('status-list', args)
  const { text, facts } = await runSubcommand(values.config, positionals)
  process.stdout.write(values.json ? `${JSON.stringify(facts, null, 2)}\n` : `${text}\n`)
}

function runSubcommand(configFile: string, [word, ...more]: readonly string[]): Promise<CommandResult> {
  const [directory] = more
  if (word === 'export' && directory !== undefined && more.length === 1) return exportLists(configFile, directory)
  if (word === 'revoke-unknown' && more.length === 0) return runRevokeUnknown(configFile)
  throw new UsageError('status-list', usageProblem(word))
}

function usageProblem(word: string | undefined): string {
  if (word === undefined) return ''
  if (word === 'export') return 'name one directory: status-list export DIRECTORY'
  return word === 'revoke-unknown'
    ? 'status-list revoke-unknown takes nothing'
    : `there is no command status-list ${word}`
}
