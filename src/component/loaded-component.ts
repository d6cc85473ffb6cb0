/** A component that a worker has loaded. `wasm.ts` loads modules, and `javascript.ts` loads scripts. */
import type { HostOperations } from './host-operations.ts'
import type { CallMessage } from './messages.ts'

export type HookCall = Pick<CallMessage, 'hook' | 'input' | 'stateLength' | 'now'>

export interface LoadedComponent {
  /** The bytes of memory that the component holds between calls; a module holds none. */
  readonly heldBytes: number
  /** Returns the names of a script's functions; none for a module, whose hooks are known before it is compiled. */
  readonly listFunctions: () => readonly string[]
  /**
   * Runs a hook, and returns its result. Throws a Trap, or an error of WebAssembly. The caller must call `restore`
   * afterwards, also after an error.
   */
  readonly run: (call: HookCall, hosted: HostOperations) => Uint8Array
  /** Resets a script to the state after its evaluation; a module has a new instance in each call. */
  readonly restore: () => void
}
