/** `vouchsafe status-list`: exports the lists of an issuer, and revokes what it does not know after a restore. */
import { readWords, UsageError } from '../command-line.ts'
import { exportLists } from './export-lists.ts'
import { revokeUnknownCredentials } from './revoke-unknown-credentials.ts'

export async function runStatusList(args: string[]): Promise<void> {
  const { values, positionals } = readWords('status-list', args)
  const [word, directory, ...more] = positionals
  if (more.length > 0 || (word === 'export') !== (directory !== undefined)) throw new UsageError('status-list')
  if (directory === undefined && word !== 'revoke-unknown') throw new UsageError('status-list')
  const { text, facts } =
    directory === undefined
      ? await revokeUnknownCredentials(values.config)
      : await exportLists(values.config, directory)
  process.stdout.write(values.json ? `${JSON.stringify(facts, null, 2)}\n` : `${text}\n`)
}
