/** The names of the hooks that an engine calls. */
import { hook as hookNames } from '../offchain/hosted.ts'
import type { Hook } from './runtime.ts'

/** The most hooks of a component: a contract has at most as many timers. */
export const MAX_EXPORTED_HOOKS = 10_000

/** Returns the name of the function that a component exports for the hook. */
export function hookName(hook: Hook): string {
  switch (hook.kind) {
    case 'http':
      return hookNames.httpRequest
    case 'state-change':
      return hookNames.stateChange
    case 'engines':
      return hookNames.engines
    case 'timer':
      return `${hookNames.timer}${(hook.id >>> 0).toString(16)}`
  }
}

const OTHER_NAMES: readonly string[] = [hookNames.httpRequest, hookNames.stateChange, hookNames.engines]
/** The id of a timer in a name: a number of 32 bits without leading zeros. */
const TIMER_ID = /^(0|[1-9a-f][0-9a-f]{0,7})$/

/** Tests whether the name is that of a hook, which an engine calls. */
export function isHook(name: string): boolean {
  return name.startsWith(hookNames.timer)
    ? TIMER_ID.test(name.slice(hookNames.timer.length))
    : OTHER_NAMES.includes(name)
}
