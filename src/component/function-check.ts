/** Checks, before a module is compiled, that V8 can compile each of its functions with little memory. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { estimateFunction } from './function-cost.ts'
import { CODE, type ModuleOutline, typeAt } from './module.ts'
import { createModuleReader, refuseModule } from './module-reader.ts'

/**
 * The most values of a function ({@link estimateFunction}); V8 needs about 200 MB for them at the worst. The largest
 * function of QuickJS has 216,000.
 */
export const MAX_VALUES = 600_000
/** The time after which the check yields to the event loop. */
const TURN_MS = 10

/**
 * Checks all functions of a module; called before the module is compiled. Rejects with a ComponentError whose message
 * is for the author of the module.
 */
export async function checkFunctions(bytes: Uint8Array, outline: ModuleOutline): Promise<void> {
  const { functionTypes, imports, sections } = outline
  const code = sections.find(({ id }) => id === CODE)
  if (code === undefined) return
  const from = createModuleReader(bytes, code.start, code.end, 'its code')
  const count = from.u32()
  let turnEnd = performance.now() + TURN_MS
  for (let number = imports.length; number < imports.length + count; number++) {
    const length = from.u32()
    const start = from.at()
    from.skip(length)
    const body = bytes.subarray(start, start + length)
    if (estimateFunction(body, typeAt(functionTypes, number), outline, MAX_VALUES) > MAX_VALUES) refuseFunction(number)
    if (performance.now() < turnEnd) continue
    await nextTurn()
    turnEnd = performance.now() + TURN_MS
  }
}

function refuseFunction(number: number): never {
  refuseModule(
    `Function ${number} of the module has too many branches for its number of locals and operands, or too many instructions: divide it into smaller ones.`,
  )
}
