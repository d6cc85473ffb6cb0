/** How a configuration reaches files; paths are relative to the working directory. Both throw when there is none. */
export interface Files {
  read(path: string): string
  list(directory: string): readonly string[]
}
