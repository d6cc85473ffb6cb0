/**
 * Signers with private keys in PKCS #11 tokens, such as HSMs and smart cards. Private keys do not leave the token. Lost
 * sessions are reopened.
 */
import { hash } from 'node:crypto'
import { createPromiseCache } from '../../async/cache.ts'
import type { Certificate } from '../certificate.ts'
import { algorithmOf, algorithms, EC_CURVES, isEcdsa } from '../signature.ts'
import { publicMembersOf, type Signer } from '../signer.ts'
import { connectPkcs11Token, type Pkcs11Connection, type Pkcs11Place } from './connection.ts'
import { isPinRefused, isSessionLost, Pkcs11Error, pkcs11Error } from './error.ts'
import { isRecent, loadPkcs11Module, type Pkcs11Module, type Pkcs11Package } from './module.ts'
import { createThreads, type Turns } from './turns.ts'

/** A private key in a token, and how to access it. */
export interface Pkcs11Key {
  /** The path of the PKCS #11 module. */
  readonly module: string
  readonly place: Pkcs11Place
  readonly keyLabel: string
  readonly pin: string
}

export interface Pkcs11Tokens {
  /**
   * Creates a signer for a key in a token. `chain` begins with the certificate of the key, which determines the
   * algorithm.
   */
  readonly createSigner: (key: Pkcs11Key, chain: readonly Certificate[]) => Signer
}

/** The maximum number of modules. */
const MAX_MODULES = 100
/** How long a failed token is not tried again. */
const RETRY_AFTER_MS = 1000

export interface Pkcs11Effects {
  readonly loadPackage: () => Promise<Pkcs11Package>
  readonly now: () => Date
}

/** Creates the PKCS #11 tokens of a process. Each module is loaded once, and each token is logged in to once. */
export function createPkcs11Tokens({ loadPackage, now }: Pkcs11Effects): Pkcs11Tokens {
  const modules = createPromiseCache<Pkcs11Module>(MAX_MODULES)
  const tokens = new Map<string, Pkcs11Token>()
  const createTurns = createThreads()
  const loadModule = (path: string): Promise<Pkcs11Module> =>
    modules.get(path, async () => loadPkcs11Module(await loadPackage(), path))
  const findToken = ({ module, place, pin }: Pkcs11Key): Pkcs11Token => {
    const name = JSON.stringify([module, place, pin])
    const connect = async () => connectWithRestart(await loadModule(module), { place, pin, now: now() })
    const token = tokens.get(name) ?? createPkcs11Token(connect, now, createTurns())
    tokens.set(name, token)
    return token
  }
  return { createSigner: (key, chain) => createPkcs11Signer(findToken(key), key.keyLabel, chain) }
}

/** Signs a digest with a key of the token. Rejects with a Pkcs11Error. */
type Pkcs11Token = (keyLabel: string, digest: Buffer) => Promise<Buffer>

interface ConnectionParts {
  readonly place: Pkcs11Place
  readonly pin: string
  readonly now: Date
}

/**
 * Connects to a token. If that fails, connects once more after the end of the module, since there are modules that see
 * a token that was away only when they are initialized. Does not send a PIN again that was refused.
 */
function connectWithRestart(module: Pkcs11Module, { place, pin, now }: ConnectionParts): Pkcs11Connection {
  try {
    return connectPkcs11Token(module, place, pin)
  } catch (error) {
    if (isPinRefused(error) || !module.end(now)) throw error
    return connectPkcs11Token(module, place, pin)
  }
}

function createPkcs11Token(connect: () => Promise<Pkcs11Connection>, now: () => Date, runInTurn: Turns): Pkcs11Token {
  let connection: Promise<Pkcs11Connection> | undefined
  let failure: { readonly error: Pkcs11Error; readonly at: Date; readonly isPinRefused: boolean } | undefined
  const connectToken = (): Promise<Pkcs11Connection> => {
    if (failure !== undefined && (failure.isPinRefused || isRecent(RETRY_AFTER_MS, failure.at, now())))
      return Promise.reject(failure.error)
    connection ??= connect().catch((error: unknown) => {
      connection = undefined
      // A wrong PIN is not tried again, since the token would be locked.
      failure = { error: pkcs11Error(error), at: now(), isPinRefused: isPinRefused(error) }
      throw failure.error
    })
    return connection
  }
  const signOnce: Pkcs11Token = async (...parts) => {
    const opening = connectToken()
    const open = await opening
    return open.sign(...parts).catch((error: unknown) => {
      if (isSessionLost(error) && connection === opening) {
        connection = undefined
        open.close()
      }
      throw error
    })
  }
  return (...parts) =>
    runInTurn((isWanted) =>
      signOnce(...parts)
        .catch((error: unknown) => {
          if (!isSessionLost(error) || !isWanted()) throw error
          return signOnce(...parts)
        })
        .catch((error: unknown) => {
          throw pkcs11Error(error)
        }),
    )
}

function createPkcs11Signer(token: Pkcs11Token, keyLabel: string, chain: readonly Certificate[]): Signer {
  const [leaf] = chain
  const alg = leaf && algorithmOf(leaf.publicKey)
  if (leaf === undefined || !isEcdsa(alg)) {
    throw new TypeError(`a key in a token needs a certificate on ${EC_CURVES}`)
  }
  const { digest, size } = algorithms[alg]
  return {
    ...publicMembersOf(leaf.publicKey, chain),
    sign: async (data) => {
      const signature = await token(keyLabel, hash(digest, data, 'buffer'))
      if (signature.length === 2 * size) return signature
      throw new Pkcs11Error(`the key with the label ${keyLabel} is on another curve than its certificate`)
    },
  }
}
