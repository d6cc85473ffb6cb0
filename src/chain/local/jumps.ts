/**
 * Where a contract may jump to. The virtual machine goes through the whole code for it with each call, which takes as long as what many
 * calls do; the code of a contract stays the same, and so it is done once.
 */
import type { EVM } from '@ethereumjs/evm'

/** What is used here of an interpreter, which makes the one that the virtual machine has no name for outside of it. */
interface Analysing {
  _getValidJumpDestinations?: Analysis
}
type Analysis = (this: Analysing, code: Uint8Array) => unknown

const STOP = Uint8Array.of(0)
const remembering = new WeakSet<Analysing>()

/** From here on every virtual machine of this process remembers. Its state must be there already. */
export async function rememberJumps(evm: EVM): Promise<void> {
  const { runState } = await evm.runCode({ code: STOP, gasLimit: 0n })
  const prototype = Object.getPrototypeOf(runState?.interpreter ?? {}) as Analysing
  const analyse = prototype._getValidJumpDestinations
  if (analyse === undefined || remembering.has(prototype)) return
  remembering.add(prototype)
  const known = new WeakMap<Uint8Array, unknown>()
  prototype._getValidJumpDestinations = function (code) {
    const before = known.get(code)
    if (before !== undefined) return before
    const found = analyse.call(this, code)
    known.set(code, found)
    return found
  }
}
