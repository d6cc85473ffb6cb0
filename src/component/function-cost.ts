/**
 * Estimates the memory that V8 needs to compile a function. That memory counts towards no component's limit, and no
 * deadline interrupts the compiler. The estimate is a number of values (SSA values of the compiler). Where the control
 * flow splits or merges, compilers keep a value for every local and every operand on the stack; any other instruction
 * counts as one value, or as several where V8 generates more code for it. WebAssembly Core Specification,
 * "Instructions".
 */
import { BULK, type Instruction, LEB, PLAIN, VECTOR } from './instruction-table.ts'
import { type FunctionType, type FunctionTypes, readBlockType, typeAt } from './module.ts'
import { createModuleReader, type ModuleReader, refuseModule } from './module-reader.ts'

interface Block {
  readonly type: FunctionType
  /** The height of the stack below the operands of the block. */
  readonly base: number
}

interface Walk extends FunctionTypes {
  readonly from: ModuleReader
  /** The number of locals, with the parameters. */
  readonly locals: number
  readonly blocks: Block[]
  /** The number of operands on the stack; for some instructions a few too many. */
  height: number
  values: number
}

/**
 * Returns the number of values of a function, or a number above `most` as soon as it is exceeded. `body` is the
 * function's entry in the code section. Throws a ComponentError for an instruction that is not of core WebAssembly.
 */
export function estimateFunction(
  body: Uint8Array,
  type: FunctionType,
  { types, functionTypes }: FunctionTypes,
  most: number,
): number {
  const from = createModuleReader(body, 0, body.length, 'a function')
  let locals = type.parameters.length
  let groups = from.u32()
  if (groups > most) return groups
  for (; groups > 0; groups--) {
    locals += from.u32()
    from.byte()
  }
  const walk = { types, functionTypes, from, locals, blocks: [{ type, base: 0 }], height: 0, values: locals }
  while (!from.atEnd() && walk.values <= most) readInstruction(walk)
  return walk.values
}

function readInstruction(walk: Walk): void {
  const { from } = walk
  const code = from.byte()
  const control = CONTROL[code]
  if (control !== undefined) {
    walk.values++
    control(walk)
    return
  }
  const { net, immediates, values } =
    (code === 0xfc ? BULK[from.u32()] : code === 0xfd ? VECTOR[from.u32()] : PLAIN[code]) ?? refuseInstruction(code)
  walk.values += values
  for (const immediate of immediates) {
    if (immediate === LEB) skipLeb(from)
    else from.skip(immediate)
  }
  moveStack(walk, -net, 0)
}

function refuseInstruction(code: number): Instruction {
  return refuseModule(`The module has an instruction 0x${code.toString(16)}, which is not of core WebAssembly.`)
}

function skipLeb(from: ModuleReader): void {
  while (from.byte() >= 0x80);
}

/** Pops operands from the stack and pushes others. Unreachable code may pop more operands than there are. */
function moveStack(walk: Walk, taken: number, put: number): void {
  walk.height = Math.max(baseOf(walk), walk.height - taken) + put
}

function baseOf({ blocks }: Walk): number {
  return blocks.at(-1)?.base ?? 0
}

/** The values of a split or merge of the control flow, beside the locals and operands. */
const BRANCH = 8

/** Counts the values of a number of splits and merges of the control flow. */
function countBranches(walk: Walk, branches: number): void {
  walk.values += branches * (BRANCH + walk.locals + walk.height)
}

/** Reads an instruction that leaves a block unconditionally: the instructions after it are unreachable. */
function leaveBlock(walk: Walk): void {
  countBranches(walk, 1)
  walk.height = baseOf(walk)
}

function openBlock(walk: Walk, taken: number, branches: number): void {
  const type = readBlockType(walk.from, walk.types)
  moveStack(walk, taken + type.parameters.length, 0)
  walk.blocks.push({ type, base: walk.height })
  walk.height += type.parameters.length
  countBranches(walk, branches)
}

function closeBlock(walk: Walk): void {
  const block = walk.blocks.pop() ?? refuseModule('The module is broken: a function goes on behind its end.')
  walk.height = block.base + block.type.results.length
  countBranches(walk, 1)
}

function openElse(walk: Walk): void {
  countBranches(walk, 1)
  walk.height = baseOf(walk) + (walk.blocks.at(-1)?.type.parameters.length ?? 0)
}

function branch(walk: Walk): void {
  walk.from.u32()
  countBranches(walk, 1)
}

function branchByTable(walk: Walk): void {
  const targets = walk.from.u32() + 1
  if (targets > MAX_TARGETS) refuseModule(`The module has a table of more than ${MAX_TARGETS} branches.`)
  for (let target = 0; target < targets; target++) walk.from.u32()
  countBranches(walk, targets)
  leaveBlock(walk)
}

/** The most targets of a branch, as in V8. */
const MAX_TARGETS = 65_521

/** The values of a call beside its parameters and results. */
const CALL = 8
const INDIRECT_CALL = 24

function callFunction(walk: Walk): void {
  countCall(walk, typeAt(walk.functionTypes, walk.from.u32()), CALL)
}

function callIndirectly(walk: Walk): void {
  const type = typeAt(walk.types, walk.from.u32())
  walk.from.u32()
  moveStack(walk, 1, 0)
  countCall(walk, type, INDIRECT_CALL)
}

function countCall(walk: Walk, { parameters, results }: FunctionType, values: number): void {
  walk.values += values + parameters.length + results.length
  moveStack(walk, parameters.length, results.length)
}

/**
 * The handlers by opcode: of instructions that open, leave or close a block, and of those whose operands depend on a
 * type.
 */
const CONTROL: readonly (((walk: Walk) => void) | undefined)[] = Object.assign(new Array(256).fill(undefined), {
  // unreachable
  0: leaveBlock,
  // block
  2: (walk: Walk) => openBlock(walk, 0, 0),
  // loop
  3: (walk: Walk) => openBlock(walk, 0, 1),
  // if
  4: (walk: Walk) => openBlock(walk, 1, 1),
  // else
  5: openElse,
  // end
  11: closeBlock,
  // br
  12: (walk: Walk) => {
    branch(walk)
    walk.height = baseOf(walk)
  },
  // br_if
  13: branch,
  // br_table
  14: branchByTable,
  // return
  15: leaveBlock,
  // call
  16: callFunction,
  // call_indirect
  17: callIndirectly,
  // select with types
  28: (walk: Walk) => {
    walk.from.vector(walk.from.byte)
    moveStack(walk, 2, 0)
  },
})
