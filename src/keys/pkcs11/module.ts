/** PKCS #11 modules: shared libraries, which the package pkcs11js loads. PKCS #11 v2.40 section 5.4. */
import type { PKCS11 } from 'pkcs11js'
import { Pkcs11Error, pkcs11Code, pkcs11Error } from './error.ts'

/** The used part of the package pkcs11js. */
export interface Pkcs11Package {
  readonly PKCS11: new () => PKCS11
}

/** A loaded module. */
export interface Pkcs11Module {
  readonly library: PKCS11
  /** Initializes the module, unless it is initialized in this process. Throws a Pkcs11Error. */
  readonly initialize: () => void
  /** Makes a call in another thread; the module does not end meanwhile. */
  readonly inThread: <Result>(call: () => Promise<Result>) => Promise<Result>
  /**
   * Ends the module with all its sessions, so that it looks for its tokens anew. Returns whether it did: not while a
   * call is made in another thread, and not again within ten seconds.
   */
  readonly end: (now: Date) => boolean
  /** Returns how often the module was ended; handles of sessions and keys are good for one generation. */
  readonly generation: () => number
}

const CKF_OS_LOCKING_OK = 2
/** How long a module is not ended again. */
export const END_AFTER_MS = 10_000
const INSTALL =
  'install it beside this service: npm install pkcs11js@2.1.7 (it is compiled, by make and a C++ compiler)'

/** Loads pkcs11js. Rejects with a Pkcs11Error if it is not installed. */
export async function loadPkcs11js(): Promise<Pkcs11Package> {
  try {
    const pkcs11js = (await import('pkcs11js')) as Pkcs11Package & { readonly default?: Pkcs11Package }
    return pkcs11js.default ?? pkcs11js
  } catch (cause) {
    const { message } = cause as Error
    const isCompiled = !message.includes('pkcs11.node')
    const text = isCompiled ? `the package pkcs11js is missing; ${INSTALL}` : `pkcs11js was not compiled; ${COMPILE}`
    throw new Pkcs11Error(text, { cause })
  }
}

const COMPILE = 'run: npm rebuild pkcs11js (with make and a C++ compiler)'

/** Loads a module for use by several threads. Throws a Pkcs11Error. */
export function loadPkcs11Module({ PKCS11: Module }: Pkcs11Package, path: string): Pkcs11Module {
  const library = new Module()
  try {
    library.load(path)
  } catch (cause) {
    const text = `the module cannot be loaded: ${(cause as Error).message}; is it the PKCS #11 library of the token, for this machine?`
    throw new Pkcs11Error(text, { cause })
  }
  const module = createModule(library)
  module.initialize()
  return module
}

function createModule(library: PKCS11): Pkcs11Module {
  let callCount = 0
  let generation = 0
  let endedAt: Date | undefined
  return {
    library,
    initialize: () =>
      ignoring('CKR_CRYPTOKI_ALREADY_INITIALIZED', () => library.C_Initialize({ flags: CKF_OS_LOCKING_OK })),
    inThread: async (call) => {
      callCount += 1
      try {
        return await call()
      } finally {
        callCount -= 1
      }
    },
    end: (now) => {
      // PKCS #11 v2.40 section 5.4: C_Finalize is undefined while other threads make calls.
      if (callCount > 0 || (endedAt !== undefined && isRecent(END_AFTER_MS, endedAt, now))) return false
      endedAt = now
      generation += 1
      ignoring('CKR_CRYPTOKI_NOT_INITIALIZED', () => library.C_Finalize())
      return true
    },
    generation: () => generation,
  }
}

/** Makes a call of the module, for which one error is as good as success. Throws a Pkcs11Error for others. */
function ignoring(code: string, call: () => void): void {
  try {
    call()
  } catch (error) {
    if (pkcs11Code(error) !== code) throw pkcs11Error(error)
  }
}

/** Tests whether less than `ms` have passed. A time in the future, after the clock was set back, is not recent. */
export function isRecent(ms: number, since: Date, now: Date): boolean {
  const ageMs = now.getTime() - since.getTime()
  return ageMs >= 0 && ageMs < ms
}
