/**
 * File access for reading a configuration. Paths are relative to the working directory. `read` and `list` throw if the
 * file or directory does not exist.
 */
export interface Files {
  read(path: string): string
  list(directory: string): readonly string[]
  /**
   * Returns the path of the file that a symbolic link leads to, or undefined if there is no such file; returns a path
   * that is not a link as it is.
   */
  resolveLink(path: string): string | undefined
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
