/** What runs the component in a test. */
import { bundleComponent } from '../../build/components.js'
import type { device, Run } from '../test/device.ts'
import { inProcess } from '../test/in-process.ts'
import { inRuntime } from '../test/in-runtime.ts'
import { http } from './signing.ts'
import { stateChange } from './state-change.ts'

export interface Implementation {
  readonly language: string
  readonly start: () => Promise<{
    readonly run: Run
    readonly authorize?: Parameters<typeof device>[3]
    readonly stop: () => Promise<void>
  }>
}

export const implementations: readonly Implementation[] = [
  {
    language: 'TypeScript, without a sandbox',
    start: () =>
      Promise.resolve({
        run: inProcess({ http, stateChange, timers: { 1: (_, context) => stateChange(context) } }),
        stop: () => Promise.resolve(),
      }),
  },
  { language: 'the sandbox', start: async () => inRuntime(await bundleComponent('key-management')) },
]
