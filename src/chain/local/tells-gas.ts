/**
 * Whether code can tell how much gas it has. It cannot where no instruction asks for it, and none makes another execution, which gets
 * a part of what is left: such code does the same with any amount that is enough.
 */

const PUSH1 = 0x60
const PUSH32 = 0x7f
/** GAS; CREATE, CALL, CALLCODE, DELEGATECALL, CREATE2, STATICCALL. */
const TELLING: ReadonlySet<number> = new Set([0x5a, 0xf0, 0xf1, 0xf2, 0xf4, 0xf5, 0xfa])

const known = new WeakMap<Uint8Array, boolean>()

/** Yes, where it is in doubt: what stands behind the instructions may look like one. The bytes must never change. */
export function tellsGas(code: Uint8Array): boolean {
  const before = known.get(code)
  if (before !== undefined) return before
  const found = hasTelling(code)
  known.set(code, found)
  return found
}

function hasTelling(code: Uint8Array): boolean {
  for (let at = 0; at < code.length; at++) {
    const opcode = code[at] ?? 0
    if (TELLING.has(opcode)) return true
    if (opcode >= PUSH1 && opcode <= PUSH32) at += opcode - PUSH1 + 1
  }
  return false
}
