/** The table of service kinds. The code of the engine is only loaded for the engine. */
import { credentialServiceKind } from './credential-service-kind.ts'
import type { ServiceKind, ServiceName } from './service-kind.ts'

export const kindLoaders: Readonly<Record<ServiceName, () => Promise<ServiceKind>>> = {
  issuer: () => Promise.resolve<ServiceKind>(credentialServiceKind('issuer')),
  verifier: () => Promise.resolve<ServiceKind>(credentialServiceKind('verifier')),
  engine: async () => (await import('../engine/commands.ts')).loadEngineKind(),
}

export const serviceNames = Object.keys(kindLoaders) as readonly ServiceName[]

export function isServiceName(word: string): word is ServiceName {
  return Object.hasOwn(kindLoaders, word)
}
