/**
 * Runs components in JavaScript. A script is evaluated once, and the memory of its QuickJS is copied. After each call
 * the copy is written back, so that nothing of a call remains for the next. Beside the memory, the only state of the
 * instance that changes is the stack pointer.
 */
import type { HostOperations } from './host-operations.ts'
import type { LoadedComponent } from './loaded-component.ts'
import { PAGE_BYTES } from './module.ts'
import { PRELUDE } from './prelude.ts'
import { evaluate, instantiate, type QuickJs, refuseException, runTextFunction } from './quickjs.ts'
import type { RuntimeLimits } from './runtime.ts'
import { trap } from './trap.ts'

/** The bytes of memory that QuickJS itself needs: its data, its stack, and its records of a script's objects. */
const OWN_BYTES = 1_441_792
const STACK_BYTES = 524_288
/**
 * The memory that is free at the start of a call, enough for most calls. When a call makes the memory grow, `restore`
 * has to make a new instance.
 */
const SPARE_BYTES = 524_288

/**
 * Evaluates a script in a new QuickJS instance. Throws a ComponentError when the script throws, and a Trap when it
 * calls an operation of its engine.
 */
export function loadScript(module: WebAssembly.Module, source: string, limits: RuntimeLimits): LoadedComponent {
  let runningCall: { readonly now: number; readonly hosted: HostOperations } | undefined
  const host = {
    call: (name: string, machine: QuickJs, args: readonly number[]): number | undefined =>
      name === 'hosted' ? answerScript(runningCall?.hosted, machine, args) : runTextFunction(name, machine, args),
    now: () => runningCall?.now ?? 0,
  }
  let machine = instantiate(module, host)
  initialize(machine, limits)
  evaluate(machine, PRELUDE, 'prelude')
  const [runner, hooks] = [takeFunction(machine, 'engineRun'), takeFunction(machine, 'engineHooks')]
  evaluate(machine, source, 'component.js')
  const { exports } = machine
  exports.wasm_free(exports.wasm_malloc(SPARE_BYTES))
  const image = machine.bytes().slice()
  const stackPointer = exports.__stack_pointer.value
  return {
    // The memory of the instance, and its copy.
    heldBytes: 2 * image.length,
    listFunctions: () => machine.textOf(callFunction(machine, hooks, [])).split(' '),
    run: ({ hook, input, stateLength, now }, hosted) => {
      runningCall = { now, hosted }
      const args = [
        machine.allocateText(Buffer.from(hook)),
        machine.allocateBytes(input),
        machine.exports.qjs_new_number(stateLength),
      ]
      const result = callFunction(machine, runner, args)
      return machine.exports.qjs_is_string(result) === 0 ? machine.bytesOf(result) : trap(machine.textOf(result))
    },
    restore: () => {
      runningCall = undefined
      // Memory cannot shrink, so a call that made it grow needs a new instance.
      if (machine.bytes().length !== image.length) {
        machine = instantiate(module, host)
        machine.exports.memory.grow((image.length - machine.bytes().length) / PAGE_BYTES)
      }
      machine.bytes().set(image)
      machine.exports.__stack_pointer.value = stackPointer
    },
  }
}

function initialize({ exports, write }: QuickJs, limits: RuntimeLimits): void {
  exports._initialize()
  if (exports.qjs_init() !== 0) trap('QuickJS could not start')
  exports.qjs_set_memory_limit(Math.max(limits.memoryBytes - OWN_BYTES, OWN_BYTES))
  exports.qjs_set_max_stack_size(STACK_BYTES)
  for (const name of ['hosted', 'encode', 'decode']) {
    const at = write(Buffer.from(name))
    exports.qjs_set_prop_string(exports.qjs_get_global(), at, exports.qjs_new_host_function(at, name.length, 0))
  }
}

/**
 * Returns a function that the prelude defined, and deletes it from the global scope, so that the script cannot reach
 * it.
 */
function takeFunction(machine: QuickJs, name: string): number {
  const { exports, write } = machine
  const value = exports.qjs_get_prop_string(exports.qjs_get_global(), write(Buffer.from(name)))
  evaluate(machine, `delete globalThis.${name}`, 'prelude')
  return value
}

function callFunction(machine: QuickJs, functionBox: number, args: readonly number[]): number {
  const { exports, write } = machine
  const list = write(Buffer.from(Uint32Array.from(args).buffer))
  return refuseException(machine, exports.qjs_call(functionBox, exports.qjs_get_undefined(), args.length, list))
}

function answerScript(
  hosted: HostOperations | undefined,
  machine: QuickJs,
  [code = 0, operand = 0]: readonly number[],
): number | undefined {
  if (hosted === undefined) return trap('the script asks its engine while it is loaded; ask inside a hook')
  try {
    const result = hosted.call(machine.exports.qjs_get_float64(code), machine.bytesOf(operand))
    return result && machine.allocateBytes(result)
  } catch (error) {
    return hosted.fail(error)
  }
}
