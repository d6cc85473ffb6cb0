/** A connection to a PKCS #11 token: its slot, sessions and keys. PKCS #11 v2.40 sections 5.5 to 5.7. */
import type { PKCS11 } from 'pkcs11js'
import { isSessionLost, Pkcs11Error, pkcs11Code, pkcs11Error } from './error.ts'
import type { Pkcs11Module } from './module.ts'

/** Identifies a PKCS #11 token by its label, or by its slot id. */
export type Pkcs11Place = { readonly tokenLabel: string } | { readonly slot: number }

export interface Pkcs11Connection {
  /** Signs the digest with ECDSA, in a session that is not shared meanwhile. Rejects with the error of the token. */
  readonly sign: (keyLabel: string, digest: Buffer) => Promise<Buffer>
  /** Closes all sessions. */
  readonly close: () => void
}

const CKF_SERIAL_SESSION = 4
const CKU_USER = 1
const CKA_CLASS = 0
const CKA_LABEL = 3
const CKO_PRIVATE_KEY = 3
const CKM_ECDSA = 0x1041
/** The size of a P-521 signature. */
const MAX_SIGNATURE_BYTES = 132

/** Finds the token and logs in. Throws the error of the token, or a Pkcs11Error if it is missing. */
export function connectPkcs11Token(module: Pkcs11Module, place: Pkcs11Place, pin: string): Pkcs11Connection {
  const { library } = module
  module.initialize()
  const generation = module.generation()
  const slot = findSlot(library, place)
  const loginSession = library.C_OpenSession(slot, CKF_SERIAL_SESSION)
  login(library, loginSession, pin)
  // The first session keeps the login, which ends with the last session of the process.
  const sessions = new Set([loginSession])
  const idleSessions: Buffer[] = []
  const keyHandles = new Map<string, Buffer>()
  // After the end of a module its handles are those of other sessions and keys.
  const isOver = (): boolean => module.generation() !== generation
  const openSession = (): Buffer => {
    const session = library.C_OpenSession(slot, CKF_SERIAL_SESSION)
    sessions.add(session)
    return session
  }
  const close = (session: Buffer): void => {
    sessions.delete(session)
    if (!isOver()) closeSession(library, session)
  }
  return {
    sign: async (keyLabel, digest) => {
      if (isOver()) throw new Pkcs11Error('the session with the token is lost (CKR_SESSION_CLOSED)')
      const session = idleSessions.pop() ?? openSession()
      try {
        const key = keyHandles.get(keyLabel) ?? findKey(library, session, keyLabel)
        keyHandles.set(keyLabel, key)
        const signature = await signInThread(module, { session, key, digest })
        idleSessions.push(session)
        return signature
      } catch (error) {
        // A session is not used again after an error.
        close(session)
        throw error
      }
    },
    close: () => {
      for (const session of sessions) close(session)
    },
  }
}

interface Signing {
  readonly session: Buffer
  readonly key: Buffer
  readonly digest: Buffer
}

/** Signs in another thread, so that this one can serve requests. */
function signInThread({ library, inThread }: Pkcs11Module, { session, key, digest }: Signing): Promise<Buffer> {
  library.C_SignInit(session, { mechanism: CKM_ECDSA, parameter: null }, key)
  return inThread(() => library.C_SignAsync(session, digest, Buffer.alloc(MAX_SIGNATURE_BYTES)))
}

function findSlot(module: PKCS11, place: Pkcs11Place): Buffer {
  const slots = module.C_GetSlotList(true)
  const labels = slots.map((slot) => module.C_GetTokenInfo(slot).label.trimEnd())
  const [slot, ...others] = slots.filter((each, index) =>
    'slot' in place ? slotId(each) === place.slot : labels[index] === place.tokenLabel,
  )
  if (slot !== undefined && others.length === 0) return slot
  const name = 'slot' in place ? `slot ${place.slot}` : `token ${place.tokenLabel}`
  if (others.length > 0)
    throw new Pkcs11Error(`there are several ${name}; name the slot instead: ${slots.map(slotId).join(', ')}`)
  const presentTokens = slots.map((each, index) => `${labels[index] ?? ''} (slot ${slotId(each)})`).join(', ')
  const advice = `put it there, or name one of these: ${presentTokens || 'none is there'}`
  throw new Pkcs11Error(`there is no ${name}; ${advice}`, { cause: new Error('CKR_TOKEN_NOT_PRESENT') })
}

/** Returns the slot id, which pkcs11js has as the bytes of a native integer. */
function slotId(slot: Buffer): number {
  const { buffer } = Uint8Array.from(slot)
  return Number(slot.length === 8 ? new BigUint64Array(buffer)[0] : new Uint32Array(buffer)[0])
}

/** Logs in to a token; the login applies to all sessions of the process. Closes the session and throws if it fails. */
function login(module: PKCS11, session: Buffer, pin: string): void {
  try {
    module.C_Login(session, CKU_USER, pin)
  } catch (error) {
    if (pkcs11Code(error) === 'CKR_USER_ALREADY_LOGGED_IN') return
    closeSession(module, session)
    throw error
  }
}

function findKey(module: PKCS11, session: Buffer, keyLabel: string): Buffer {
  module.C_FindObjectsInit(session, [
    { type: CKA_CLASS, value: CKO_PRIVATE_KEY },
    { type: CKA_LABEL, value: keyLabel },
  ])
  const matches = module.C_FindObjects(session, 2)
  module.C_FindObjectsFinal(session)
  const [key] = matches
  if (key !== undefined && matches.length === 1) return key
  const text = key === undefined ? 'the token has no private key' : 'the token has several private keys'
  throw new Pkcs11Error(`${text} with the label ${keyLabel}; give one key that label (CKA_LABEL)`)
}

/** Closes a session. Ignores that the token has closed it already. */
function closeSession(module: PKCS11, session: Buffer): void {
  try {
    module.C_CloseSession(session)
  } catch (error) {
    if (!isSessionLost(error)) throw pkcs11Error(error)
  }
}
