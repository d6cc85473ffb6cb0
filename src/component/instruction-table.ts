/**
 * The instructions of core WebAssembly that do not open, leave or close a block: the immediates of each, and its effect
 * on the operand stack. WebAssembly Core Specification, "Binary Format of Instructions".
 */

export interface Instruction {
  /** The number of operands that the instruction pushes, less those that it pops. */
  readonly net: number
  /** The length of each immediate in bytes, or {@link LEB}. */
  readonly immediates: readonly number[]
  /** The number of values that the instruction counts as; V8's compilers need about 300 bytes for each. */
  readonly values: number
}

/** Marks an immediate in LEB128, whose length is encoded in its bytes. */
export const LEB = 0

const NONE: readonly number[] = []
const ONE = [LEB]
const TWO = [LEB, LEB]

type Row = readonly [first: number, last: number, net: number, immediates?: readonly number[], values?: number]

/**
 * Makes a table by opcode. Each row describes the instructions from its first opcode to its last; later rows override
 * earlier ones.
 */
function makeTable(rows: readonly Row[]): readonly (Instruction | undefined)[] {
  const table: (Instruction | undefined)[] = Array.from({ length: 256 }, () => undefined)
  for (const [first, last, net, immediates = NONE, values = 1] of rows) {
    table.fill({ net, immediates, values }, first, last + 1)
  }
  return table
}

export const PLAIN = makeTable([
  [0x01, 0x01, 0],
  [0x1a, 0x1a, -1],
  [0x1b, 0x1b, -2],
  [0x20, 0x20, 1, ONE],
  [0x21, 0x21, -1, ONE],
  [0x22, 0x22, 0, ONE],
  [0x23, 0x23, 1, ONE],
  [0x24, 0x24, -1, ONE],
  // Tables.
  [0x25, 0x25, 0, ONE, 4],
  [0x26, 0x26, -2, ONE, 4],
  // Memory.
  [0x28, 0x35, 0, TWO, 3],
  [0x36, 0x3e, -2, TWO, 3],
  [0x3f, 0x3f, 1, ONE],
  [0x40, 0x40, 0, ONE, 8],
  // Constants.
  [0x41, 0x42, 1, ONE],
  [0x43, 0x43, 1, [4]],
  [0x44, 0x44, 1, [8]],
  // Comparisons and arithmetic; divisions and conversions to integers count as more values.
  [0x45, 0x45, 0],
  [0x46, 0x4f, -1],
  [0x50, 0x50, 0],
  [0x51, 0x66, -1],
  [0x67, 0x69, 0],
  [0x6a, 0x78, -1],
  [0x6d, 0x70, -1, NONE, 8],
  [0x79, 0x7b, 0],
  [0x7c, 0x8a, -1],
  [0x7f, 0x82, -1, NONE, 8],
  [0x8b, 0x91, 0],
  [0x92, 0x98, -1],
  [0x98, 0x98, -1, NONE, 4],
  [0x99, 0x9f, 0],
  [0xa0, 0xa6, -1],
  [0xa6, 0xa6, -1, NONE, 4],
  [0xa7, 0xc4, 0],
  [0xa8, 0xab, 0, NONE, 6],
  [0xae, 0xb1, 0, NONE, 6],
  // References.
  [0xd0, 0xd0, 1, ONE],
  [0xd1, 0xd1, 0],
  [0xd2, 0xd2, 1, ONE, 48],
])

/** The instructions with the prefix 0xfc: saturating conversions, and those for ranges of memory and of tables. */
export const BULK = makeTable([
  [0, 7, 0, NONE, 12],
  [8, 8, -3, TWO, 12],
  [9, 9, 0, ONE, 12],
  [10, 10, -3, TWO, 12],
  [11, 11, -3, ONE, 12],
  [12, 12, -3, TWO, 12],
  [13, 13, 0, ONE, 12],
  [14, 14, -3, TWO, 12],
  [15, 15, -1, ONE, 12],
  [16, 16, 1, ONE, 4],
  [17, 17, -3, ONE, 12],
])

/** The vector instructions, with the prefix 0xfd. None of those from 94 on pushes more operands than it pops. */
export const VECTOR = makeTable([
  [0, 10, 0, TWO, 3],
  [11, 11, -2, TWO, 3],
  [12, 12, 1, [16]],
  [13, 13, -1, [16]],
  [14, 14, -1],
  [15, 20, 0],
  [21, 34, 0, [1]],
  [35, 76, -1],
  [77, 77, 0],
  [78, 81, -1],
  [82, 82, -2],
  [83, 83, 0],
  [84, 87, -1, [LEB, LEB, 1], 3],
  [88, 91, -2, [LEB, LEB, 1], 3],
  [92, 93, 0, TWO, 3],
  [94, 255, 0],
])
