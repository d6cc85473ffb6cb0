/** PKCS #11 modules: shared libraries, which the package pkcs11js loads. PKCS #11 v2.40 section 5.4. */
import type { PKCS11 } from 'pkcs11js'
import { Pkcs11Error, pkcs11Code, pkcs11Error } from './error.ts'

/** The used part of the package pkcs11js. */
export interface Pkcs11Package {
  readonly PKCS11: new () => PKCS11
}

const CKF_OS_LOCKING_OK = 2
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
export function loadPkcs11Module({ PKCS11: Module }: Pkcs11Package, path: string): PKCS11 {
  const module = new Module()
  try {
    module.load(path)
  } catch (cause) {
    const text = `the module cannot be loaded: ${(cause as Error).message}; is it the PKCS #11 library of the token, for this machine?`
    throw new Pkcs11Error(text, { cause })
  }
  initialize(module)
  return module
}

/** Initializes the module, unless it is initialized in this process. */
export function initialize(module: PKCS11): void {
  try {
    module.C_Initialize({ flags: CKF_OS_LOCKING_OK })
  } catch (error) {
    if (pkcs11Code(error) !== 'CKR_CRYPTOKI_ALREADY_INITIALIZED') throw pkcs11Error(error)
  }
}
