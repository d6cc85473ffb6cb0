/** The commands of the execution engine, whose code is only loaded for them. */
import type { DemoEngine } from '../demo/engines.ts'
import type { SecretPlay } from '../demo/secret.ts'
import type { Finding } from '../doctor/finding.ts'
import type { ServiceKind } from '../service/service-kind.ts'
import type { InitWords } from './init.ts'

/** The function of each command, which gets the words after it. */
export const engineCommands: Readonly<Record<'chain' | 'component' | 'secret', (args: string[]) => Promise<void>>> = {
  chain: async (args) => (await import('../chain/chain.ts')).runChain(args),
  component: async (args) => (await import('../component/component.ts')).runComponent(args),
  secret: async (args) => (await import('../secret/secret.ts')).runSecret(args),
}

/** Returns the engine as a service kind. */
export async function loadEngineKind(): Promise<ServiceKind> {
  return (await import('./engine-kind.ts')).engineKind
}

/** Runs `vouchsafe init engine`, and returns the text for stdout. */
export async function writeEngineFiles(words: InitWords): Promise<string> {
  return (await import('./init.ts')).initEngine(words)
}

/** Runs `vouchsafe doctor engine`; `otherFindings` are of a file of another service. */
export async function runDoctorEngine(
  configFile: string,
  json: boolean,
  otherFindings: readonly Finding[],
): Promise<void> {
  return (await import('./doctor.ts')).doctorEngine(configFile, json, otherFindings)
}

/** Plays the second part of `vouchsafe demo`, and returns the engines that it started. */
export async function playSecretPart(play: SecretPlay): Promise<readonly DemoEngine[]> {
  return (await import('../demo/secret.ts')).playSecret(play)
}
