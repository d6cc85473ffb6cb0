/** Checks that a file with secrets is only readable for its owner. */
import { statSync } from 'node:fs'
import { type Finding, makeFinding } from './finding.ts'

/** Returns a warning if other users can read the file. */
export function findPrivateFileFindings(subject: string, file: string): Finding[] {
  try {
    const mode = statSync(file).mode & 0o777
    if (process.platform === 'win32' || (mode & 0o077) === 0) return []
    const text = `other users of this machine can get at ${file} (mode ${mode.toString(8)}); chmod 600 ${file}`
    return [makeFinding(subject, 'warning', text)]
  } catch {
    return []
  }
}
