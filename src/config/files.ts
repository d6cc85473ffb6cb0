/**
 * File access for reading a configuration; paths are relative to the working directory. Both functions throw when the
 * file or directory does not exist.
 */
export interface Files {
  read(path: string): string
  list(directory: string): readonly string[]
}
