/** The file beside an embedded database that says which start of a service was the last. docs/decisions/0010-generations.md. */
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'

/** The file that stands beside an embedded database, and is no part of its backups. */
export function generationFile(databaseFile: string): string {
  return `${databaseFile}-generation`
}

/** The texts of the file; none when it is not there, or is a copy: it has in it which file it is. */
export function readWitnesses(file: string): readonly string[] {
  try {
    const [identity, ...witnesses] = readFileSync(file, 'utf8').trimEnd().split('\n')
    return identity === identityOf(file) ? witnesses : []
  } catch {
    return []
  }
}

/** A file keeps its number and when it was made as long as nobody makes another in its place. */
function identityOf(file: string): string {
  const { ino, birthtimeNs } = statSync(file, { bigint: true })
  return `${ino}.${birthtimeNs}`
}

export function writeWitnesses(file: string, witnesses: readonly string[]): void {
  const made = `${file}.${process.pid}`
  writeFileSync(made, '', { mode: 0o600 })
  writeFileSync(made, `${[identityOf(made), ...witnesses].join('\n')}\n`)
  renameSync(made, file)
}
