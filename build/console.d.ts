/** Writes the files of the page into a directory. */
export declare function buildConsole(directory: string): Promise<void>
