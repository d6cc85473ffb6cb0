/** Describes errors of PKCS #11 tokens and modules, and what to do about them. PKCS #11 v2.40 section 5.1. */
import { EC_CURVES } from '../signature.ts'

/** The error for a PKCS #11 token that cannot be used. The message has the code of the token. */
export class Pkcs11Error extends Error {}

interface Meaning {
  readonly text: string
  /** Whether the session is lost, so that a new one may work. */
  readonly isLost?: true
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  CKR_PIN_INCORRECT: { text: 'the PIN in pinFile is wrong; correct it before the token locks the PIN' },
  CKR_PIN_LEN_RANGE: { text: 'the PIN in pinFile is too short or too long; correct it' },
  CKR_PIN_LOCKED: { text: 'the PIN is locked; unlock it with the tool of the token' },
  CKR_PIN_EXPIRED: {
    text: 'the PIN has expired; set another one with the tool of the token, and write it into pinFile',
  },
  CKR_USER_PIN_NOT_INITIALIZED: { text: 'the token has no PIN yet; set one with the tool of the token' },
  CKR_KEY_FUNCTION_NOT_PERMITTED: { text: 'the key may not sign; make one with CKA_SIGN' },
  CKR_KEY_TYPE_INCONSISTENT: { text: `the key is not an EC key; make one on ${EC_CURVES}` },
  CKR_MECHANISM_INVALID: { text: 'the token has no ECDSA (CKM_ECDSA); use another token' },
  CKR_SESSION_COUNT: { text: 'the token takes no more sessions; end other programs that use it' },
  CKR_TOKEN_NOT_PRESENT: { text: 'the token is not there; put it back', isLost: true },
  CKR_SLOT_ID_INVALID: { text: 'the slot is not there; put the token back', isLost: true },
  CKR_TOKEN_NOT_RECOGNIZED: { text: 'the token cannot be read; put it back', isLost: true },
  CKR_DEVICE_REMOVED: { text: 'the token was removed; put it back', isLost: true },
  CKR_GENERAL_ERROR: { text: 'the token failed; look at its own log', isLost: true },
  CKR_DEVICE_ERROR: { text: 'the token failed; look at its own log', isLost: true },
  CKR_SESSION_HANDLE_INVALID: { text: 'the session with the token is lost', isLost: true },
  CKR_SESSION_CLOSED: { text: 'the session with the token is lost', isLost: true },
  CKR_USER_NOT_LOGGED_IN: { text: 'the session with the token is lost', isLost: true },
  CKR_KEY_HANDLE_INVALID: { text: 'the key is no longer in the token', isLost: true },
  CKR_OBJECT_HANDLE_INVALID: { text: 'the key is no longer in the token', isLost: true },
  CKR_CRYPTOKI_NOT_INITIALIZED: { text: 'the module was ended by something else in this process', isLost: true },
}

/** Tests whether a new session may succeed after this error. */
export function isSessionLost(error: unknown): boolean {
  return MEANINGS[pkcs11Code(error)]?.isLost === true
}

/** Tests whether the token refused the PIN. The PIN must then not be sent again, since the token would be locked. */
export function isPinRefused(error: unknown): boolean {
  return /^CKR_(USER_)?PIN_/.test(pkcs11Code(error))
}

/** Makes a Pkcs11Error that describes the error, with the code of the token, and the error as its cause. */
export function pkcs11Error(error: unknown): Pkcs11Error {
  if (error instanceof Pkcs11Error) return error
  const code = pkcs11Code(error)
  const { text } = MEANINGS[code] ?? { text: 'the token failed; look at its own log' }
  return new Pkcs11Error(`${text} (${code})`, { cause: error })
}

/** Returns the name of the error code, from the message of pkcs11js; empty for other values than errors. */
export function pkcs11Code(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { message } = error
  return /CKR_\w+/.exec(message)?.[0] ?? message
}
