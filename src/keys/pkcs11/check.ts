/**
 * Checks whether the keys in PKCS #11 tokens are there, and are those of their certificates, before a service starts
 * with them.
 */
import { createKeySigner, listKeys, type ServiceKeys, type SigningKey } from '../key-ring.ts'
import { verifySignature } from '../signature.ts'
import { Pkcs11Error } from './error.ts'
import type { Pkcs11Tokens } from './signer.ts'

/** Tries each key that is in a token, and lists what is wrong with those that do not sign for their certificate. */
export async function findPkcs11Mistakes(keys: ServiceKeys, tokens: Pkcs11Tokens): Promise<string[]> {
  const inTokens = listKeys(keys).filter(([, key]) => 'pkcs11Key' in key)
  const problems = await Promise.all(inTokens.map(([, key]) => findSigningProblem(key, tokens)))
  return problems.flatMap((problem, index) =>
    problem === undefined ? [] : [`${inTokens[index]?.[0]}.pkcs11: ${problem}`],
  )
}

/** Says why the key does not sign for its certificate, as a sentence; undefined when it does. */
export async function findSigningProblem(key: SigningKey, tokens: Pkcs11Tokens): Promise<string | undefined> {
  const [leaf] = key.chain
  const data = Buffer.from('vouchsafe: a signature to try the key')
  try {
    const signature = await createKeySigner(key, tokens).sign(data)
    if (verifySignature(leaf.publicKey, data, signature)) return undefined
    return `the key is not the one of the first certificate (${leaf.subjectText}); name its certificate, or another keyLabel`
  } catch (error) {
    if (error instanceof Pkcs11Error) return error.message
    throw error
  }
}
