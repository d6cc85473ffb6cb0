/**
 * The files of a local chain: one numbered file for each block. `bin/chain/block-files.ts` implements this on a
 * directory.
 */

export interface BlockFiles {
  /** The place of the files, for error messages. */
  readonly name: string
  /** Reads the text of a block; undefined when there is no block of that number. */
  read(number: number): string | undefined
  /**
   * Creates the file of a block, durably and completely or not at all. Returns false when a block of that number exists
   * already.
   */
  create(number: number, text: string): Promise<boolean>
  /** Lists the numbers of the existing blocks, in any order. Throws when there is a file that is not a block. */
  numbers(): readonly number[]
}
