/**
 * File access for reading a configuration. Paths are relative to the working directory. Both functions throw if the
 * file or directory does not exist.
 */
export interface Files {
  read(path: string): string
  list(directory: string): readonly string[]
}

/** The default reason why a file cannot be read. */
export const UNREADABLE = 'the file cannot be read'

/** Returns why a file could not be read, for messages. */
export function unreadableReason(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'the file may not be read by this user'
  if (code === 'EISDIR') return 'this is a directory, and it should be a file'
  return UNREADABLE
}
