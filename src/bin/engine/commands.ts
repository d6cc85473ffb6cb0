/**
 * The words that belong to the execution engine, in a file of their own: `dist/engine.cjs`, which is loaded for them alone, since
 * issuers and verifiers have no use for chains and sandboxes.
 */
import type { EngineWord } from '../command-line.ts'

/** What each does with the words after it. */
export const engineCommands: Readonly<Record<EngineWord, (args: string[]) => Promise<void>>> = {
  engine: async (args) => (await import('./engine.ts')).runEngine(args),
  chain: async (args) => (await import('../chain/chain.ts')).runChain(args),
  component: async (args) => (await import('../component/component.ts')).runComponent(args),
}

/** `vouchsafe init engine` */
export async function initEngine(directory: string, baseUrl: string | undefined): Promise<void> {
  return (await import('./init.ts')).initEngine(directory, baseUrl)
}

/** `vouchsafe doctor engine` */
export async function doctorEngine(configFile: string, json: boolean): Promise<void> {
  return (await import('./doctor.ts')).doctorEngine(configFile, json)
}
