/**
 * The file beside an embedded database that records the last start of its service, by a random text that the database
 * has too: a witness. docs/decisions/0010-generations.md.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'

/** Returns the path of the file, which is not part of backups. */
export function generationFile(databaseFile: string): string {
  return `${databaseFile}-generation`
}

/**
 * Reads the witnesses; none when the file is missing, or is a copy and so does not have the identity that it names.
 * Throws a message for the operator when the file cannot be read, since then nothing is known of the database.
 */
export function readWitnesses(file: string): readonly string[] {
  try {
    const [identity, ...witnesses] = readFileSync(file, 'utf8').trimEnd().split('\n')
    return identity === identityOf(file) ? witnesses : []
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    const advice =
      'let the user of the service read it. Without it a service takes its database for a copy, and voids what is open'
    throw new Error(`${file} cannot be read (${code}): ${advice}`, { cause: error })
  }
}

/** Returns the identity of a file: its number and its time of creation, which a replacement does not share. */
function identityOf(file: string): string {
  const { ino, birthtimeNs } = statSync(file, { bigint: true })
  return `${ino}.${birthtimeNs}`
}

export function writeWitnesses(file: string, witnesses: readonly string[]): void {
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, '', { mode: 0o600 })
  writeFileSync(temporary, `${[identityOf(temporary), ...witnesses].join('\n')}\n`)
  renameSync(temporary, file)
}
