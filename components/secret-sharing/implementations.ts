/** The ways in which the component is written, and what runs each in a test. */
import { compileAssembly } from '../../build/assembly.js'
import type { device, Run } from '../test/device.ts'
import { inProcess } from '../test/in-process.ts'
import { inRuntime } from '../test/in-runtime.ts'
import { http, stateChange } from './shares.ts'

export interface Implementation {
  readonly language: string
  readonly start: () => Promise<{
    readonly run: Run
    readonly authorize?: Parameters<typeof device>[3]
    readonly stop: () => Promise<void>
  }>
}

const resend = (_: Uint8Array, context: Parameters<typeof stateChange>[0]): void => stateChange(context)

export const implementations: readonly Implementation[] = [
  {
    language: 'TypeScript, without a sandbox',
    start: () =>
      Promise.resolve({
        run: inProcess({ http, stateChange, timers: { 1: resend } }),
        stop: () => Promise.resolve(),
      }),
  },
  { language: 'AssemblyScript', start: () => inRuntime(compileAssembly('secret-sharing')) },
]
