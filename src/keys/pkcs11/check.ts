/** Checks before a service starts that the keys in PKCS #11 tokens exist and match their certificates. */
import { createKeySigner, listKeys, type ServiceKeys, type SigningKey } from '../key-ring.ts'
import { verifySignature } from '../signature.ts'
import { isPinRefused, isSessionLost, Pkcs11Error } from './error.ts'
import type { Pkcs11Tokens } from './signer.ts'

/** Why a key in a token cannot sign. */
export interface Pkcs11Mistake {
  /** A sentence that begins with the setting. */
  readonly mistake: string
  /** Whether the token is away or has failed, so that the key may sign later. */
  readonly isTemporary: boolean
  /** Whether the token refused the PIN, which it locks when the PIN is sent again. */
  readonly isPinRefused: boolean
}

/** Signs with each key in a token, and returns the mistakes. */
export async function findPkcs11Mistakes(keys: ServiceKeys, tokens: Pkcs11Tokens): Promise<readonly Pkcs11Mistake[]> {
  const inTokens = listKeys(keys).filter(([, key]) => 'pkcs11Key' in key)
  const mistakes = await Promise.all(
    inTokens.map(async ([setting, key]) => {
      const failure = await trySigning(key, tokens)
      if (failure === undefined) return []
      const { problem, cause } = failure
      const mistake = `${setting}.pkcs11: ${problem}`
      return [{ mistake, isTemporary: isSessionLost(cause), isPinRefused: isPinRefused(cause) }]
    }),
  )
  return mistakes.flat()
}

/** Returns why the key cannot sign for its certificate, as a sentence; undefined if it can. */
export async function findSigningProblem(key: SigningKey, tokens: Pkcs11Tokens): Promise<string | undefined> {
  return (await trySigning(key, tokens))?.problem
}

interface SigningFailure {
  readonly problem: string
  /** The error of the token, if there was one. */
  readonly cause: unknown
}

async function trySigning(key: SigningKey, tokens: Pkcs11Tokens): Promise<SigningFailure | undefined> {
  const [leaf] = key.chain
  const data = Buffer.from('vouchsafe: a signature to try the key')
  try {
    const signature = await createKeySigner(key, tokens).sign(data)
    if (verifySignature(leaf.publicKey, data, signature)) return undefined
    const problem = `the key is not the one of the first certificate (${leaf.subjectText}); name its certificate, or another keyLabel`
    return { problem, cause: undefined }
  } catch (error) {
    if (error instanceof Pkcs11Error) return { problem: error.message, cause: error.cause }
    throw error
  }
}
