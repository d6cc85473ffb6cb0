/**
 * Recovery of keys by libsecp256k1, which answers as `recoverPure` does in a tenth of its time: the native library where it was
 * installed, as that is optional, and elsewhere the same one compiled to WebAssembly. It is given nothing that is secret.
 */
import { lowAlone, type Recover, recoverPure } from './recover.ts'

export type Library = 'native' | 'WebAssembly'

/** Each rejects where it cannot be loaded. */
export const libraries: Readonly<Record<Library, () => Promise<Recover>>> = {
  native: async () => {
    const { ecdsaRecover } = (await import('secp256k1/bindings.js')).default
    return lowAlone((digest, { compact, recovery }) => {
      try {
        return ecdsaRecover(compact, recovery, digest, false)
      } catch {
        return undefined
      }
    })
  },
  WebAssembly: async () => {
    const { instantiateSecp256k1 } = await import('@bitauth/libauth/build/lib/crypto/secp256k1.js')
    const { recoverPublicKeyUncompressed } = await instantiateSecp256k1()
    return lowAlone((digest, { compact, recovery }) => {
      const key = recoverPublicKeyUncompressed(compact, recovery, digest)
      // What it refuses, it says in words.
      return typeof key === 'string' ? undefined : key
    })
  },
}

let loaded: Recover | undefined
let asked: Promise<Library | undefined> | undefined

/** By the fastest there is. The first call asks for it, which later ones have. */
export const recover: Recover = (digest, signature) => {
  void loadRecovery()
  return (loaded ?? recoverPure)(digest, signature)
}

/** Loads a library once, and says by which keys are recovered from then on; undefined where there is none. */
export function loadRecovery(): Promise<Library | undefined> {
  asked ??= load()
  return asked
}

async function load(): Promise<Library | undefined> {
  for (const name of ['native', 'WebAssembly'] as const) {
    loaded = await libraries[name]().catch(() => undefined)
    if (loaded !== undefined) return name
  }
  return undefined
}
