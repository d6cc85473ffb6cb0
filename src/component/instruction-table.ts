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
 * Makes a table by opcode. Each row describes the instructions from its first opcode to its last; a comment names them.
 * Later rows override earlier ones.
 */
function makeTable(rows: readonly Row[]): readonly (Instruction | undefined)[] {
  const table: (Instruction | undefined)[] = Array.from({ length: 256 }, () => undefined)
  for (const [first, last, net, immediates = NONE, values = 1] of rows) {
    table.fill({ net, immediates, values }, first, last + 1)
  }
  return table
}

export const PLAIN = makeTable([
  [0x01, 0x01, 0], // nop
  [0x1a, 0x1a, -1], // drop
  [0x1b, 0x1b, -2], // select
  [0x20, 0x20, 1, ONE], // local.get
  [0x21, 0x21, -1, ONE], // local.set
  [0x22, 0x22, 0, ONE], // local.tee
  [0x23, 0x23, 1, ONE], // global.get
  [0x24, 0x24, -1, ONE], // global.set
  // Tables.
  [0x25, 0x25, 0, ONE, 4], // table.get
  [0x26, 0x26, -2, ONE, 4], // table.set
  // Memory.
  [0x28, 0x35, 0, TWO, 3], // i32.load to i64.load32_u
  [0x36, 0x3e, -2, TWO, 3], // i32.store to i64.store32
  [0x3f, 0x3f, 1, ONE], // memory.size
  [0x40, 0x40, 0, ONE, 8], // memory.grow
  // Constants.
  [0x41, 0x42, 1, ONE], // i32.const and i64.const
  [0x43, 0x43, 1, [4]], // f32.const
  [0x44, 0x44, 1, [8]], // f64.const
  // Comparisons and arithmetic; divisions and conversions to integers count as more values.
  [0x45, 0x45, 0], // i32.eqz
  [0x46, 0x4f, -1], // i32.eq to i32.ge_u
  [0x50, 0x50, 0], // i64.eqz
  [0x51, 0x66, -1], // i64.eq to f64.ge
  [0x67, 0x69, 0], // i32.clz, i32.ctz and i32.popcnt
  [0x6a, 0x78, -1], // i32.add to i32.rotr
  [0x6d, 0x70, -1, NONE, 8], // i32.div_s to i32.rem_u
  [0x79, 0x7b, 0], // i64.clz, i64.ctz and i64.popcnt
  [0x7c, 0x8a, -1], // i64.add to i64.rotr
  [0x7f, 0x82, -1, NONE, 8], // i64.div_s to i64.rem_u
  [0x8b, 0x91, 0], // f32.abs to f32.sqrt
  [0x92, 0x98, -1], // f32.add to f32.copysign
  [0x98, 0x98, -1, NONE, 4], // f32.copysign
  [0x99, 0x9f, 0], // f64.abs to f64.sqrt
  [0xa0, 0xa6, -1], // f64.add to f64.copysign
  [0xa6, 0xa6, -1, NONE, 4], // f64.copysign
  [0xa7, 0xc4, 0], // i32.wrap_i64 to i64.extend32_s
  [0xa8, 0xab, 0, NONE, 6], // i32.trunc_f32_s to i32.trunc_f64_u
  [0xae, 0xb1, 0, NONE, 6], // i64.trunc_f32_s to i64.trunc_f64_u
  // References.
  [0xd0, 0xd0, 1, ONE], // ref.null
  [0xd1, 0xd1, 0], // ref.is_null
  [0xd2, 0xd2, 1, ONE, 48], // ref.func
])

/** The instructions with the prefix 0xfc: saturating conversions, and those for ranges of memory and of tables. */
export const BULK = makeTable([
  [0, 7, 0, NONE, 12], // i32.trunc_sat_f32_s to i64.trunc_sat_f64_u
  [8, 8, -3, TWO, 12], // memory.init
  [9, 9, 0, ONE, 12], // data.drop
  [10, 10, -3, TWO, 12], // memory.copy
  [11, 11, -3, ONE, 12], // memory.fill
  [12, 12, -3, TWO, 12], // table.init
  [13, 13, 0, ONE, 12], // elem.drop
  [14, 14, -3, TWO, 12], // table.copy
  [15, 15, -1, ONE, 12], // table.grow
  [16, 16, 1, ONE, 4], // table.size
  [17, 17, -3, ONE, 12], // table.fill
])

/** The vector instructions, with the prefix 0xfd. None of those from 94 on pushes more operands than it pops. */
export const VECTOR = makeTable([
  [0, 10, 0, TWO, 3], // v128.load to v128.load64_splat
  [11, 11, -2, TWO, 3], // v128.store
  [12, 12, 1, [16]], // v128.const
  [13, 13, -1, [16]], // i8x16.shuffle
  [14, 14, -1], // i8x16.swizzle
  [15, 20, 0], // i8x16.splat to f64x2.splat
  [21, 34, 0, [1]], // i8x16.extract_lane_s to f64x2.replace_lane
  [35, 76, -1], // i8x16.eq to f64x2.ge
  [77, 77, 0], // v128.not
  [78, 81, -1], // v128.and to v128.xor
  [82, 82, -2], // v128.bitselect
  [83, 83, 0], // v128.any_true
  [84, 87, -1, [LEB, LEB, 1], 3], // v128.load8_lane to v128.load64_lane
  [88, 91, -2, [LEB, LEB, 1], 3], // v128.store8_lane to v128.store64_lane
  [92, 93, 0, TWO, 3], // v128.load32_zero and v128.load64_zero
  [94, 255, 0], // f32x4.demote_f64x2_zero and all others
])
