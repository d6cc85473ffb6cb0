/** Checks the configuration file itself, apart from its settings. */
import { configFileHints } from '../service/config-file.ts'
import { type Finding, makeFinding } from './finding.ts'
import { findPrivateFileFindings } from './private-file.ts'

/** Returns the findings about the file. `settingsFindings` are those about its settings. */
export function findConfigurationFileFindings(file: string, settingsFindings: readonly Finding[]): Finding[] {
  const hints = configFileHints(
    file,
    settingsFindings.map(({ text }) => text),
  )
  return [
    ...hints.map((hint) => makeFinding('configuration', 'note', hint)),
    // The file may have API keys, and the password of a database.
    ...findPrivateFileFindings('configuration', file),
  ]
}
