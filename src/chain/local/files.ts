/**
 * The files of the blocks of a local chain: a numbered file for each. `bin/chain/block-files.ts` implements it on a
 * directory.
 */

export interface BlockFiles {
  /** The place of the files, for errors. */
  readonly name: string
  /** Reads the text of a block; undefined when there is none of that number. */
  read(number: number): string | undefined
  /**
   * Writes the whole block durably, or nothing; returns false when a block of that number exists, whoever wrote it.
   */
  create(number: number, text: string): Promise<boolean>
  /** Lists the numbers of the blocks that are there, in any order. Throws when there is a file that is not a block. */
  numbers(): readonly number[]
}
