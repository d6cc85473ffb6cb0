/** Checks whether a file with secrets is readable for its owner only. */
import { statSync } from 'node:fs'
import type { Finding } from './finding.ts'

/** Warns about a private key or database that other users of the machine can read. */
export function privateFileFindings(subject: string, file: string): Finding[] {
  try {
    const mode = statSync(file).mode & 0o777
    if (process.platform === 'win32' || (mode & 0o077) === 0) return []
    const text = `other users of this machine can get at ${file} (mode ${mode.toString(8)}); chmod 600 ${file}`
    return [{ subject, outcome: 'warning', text }]
  } catch {
    return []
  }
}
