/** The result of a command, for people and for programs. */
import type { Json } from '../../codec/json.ts'
import { removeControlCharactersByLine } from './terminal.ts'

export interface CommandResult {
  /** The lines for people. A text of others in them must be without line breaks. */
  readonly text: string
  /** The facts, which `--json` prints. */
  readonly facts: object | Json
  /** The exit status; 0 when absent. */
  readonly status?: 1 | 2
}

/** Prints a result, as JSON or as text without control characters, and sets the exit status of the process. */
export function printResult({ text, facts, status }: CommandResult, json: boolean): void {
  process.stdout.write(`${json ? JSON.stringify(facts, null, 2) : removeControlCharactersByLine(text)}\n`)
  if (status !== undefined) process.exitCode = status
}

/** Formats a number of bytes, such as `12.5 MB`. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${power === 0 ? bytes : (bytes / 1000 ** power).toFixed(1)} ${units[power] ?? ''}`
}

/** Formats a number of rows, such as `12 rows`. */
export function rowsText(rows: number): string {
  return `${rows} row${rows === 1 ? '' : 's'}`
}
