/** The result of a subcommand, for people and for programs. */
export interface CommandResult {
  readonly text: string
  readonly facts: object
  /** The exit status; 0 when absent. */
  readonly status?: 1
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
