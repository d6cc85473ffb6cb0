/** The table of service kinds. The code of the engine is only loaded for the engine. */
import { credentialServiceKind } from './credential-service-kind.ts'
import type { KindName, ServiceKind } from './service-kind.ts'

export const kindLoaders: Readonly<Record<KindName, () => Promise<ServiceKind>>> = {
  issuer: () => Promise.resolve<ServiceKind>(credentialServiceKind('issuer')),
  verifier: () => Promise.resolve<ServiceKind>(credentialServiceKind('verifier')),
  engine: async () => (await import('../engine/commands.ts')).loadEngineKind(),
}

export const kindNames = Object.keys(kindLoaders) as readonly KindName[]

export function isKindName(word: string): word is KindName {
  return Object.hasOwn(kindLoaders, word)
}
