/** The ways in which the component is written, and what runs each in a test. */
import { bundleComponent, compileAssembly } from '../../build/components.js'
import type { device, Run } from '../test/device.ts'
import { inRuntime } from '../test/in-runtime.ts'

export interface Implementation {
  readonly language: string
  readonly start: () => Promise<{
    readonly run: Run
    readonly authorize?: Parameters<typeof device>[3]
    readonly stop: () => Promise<void>
  }>
}

export const implementations: readonly Implementation[] = [
  { language: 'TypeScript', start: async () => inRuntime(await bundleComponent('secret-sharing')) },
  { language: 'AssemblyScript', start: () => inRuntime(compileAssembly('secret-sharing')) },
]
