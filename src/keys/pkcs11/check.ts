/** Checks before a service starts that the keys in PKCS #11 tokens exist and match their certificates. */
import { createKeySigner, listKeys, type ServiceKeys, type SigningKey } from '../key-ring.ts'
import { verifySignature } from '../signature.ts'
import { Pkcs11Error } from './error.ts'
import type { Pkcs11Tokens } from './signer.ts'

/** Signs with each key in a token, and returns the mistakes. */
export async function findPkcs11Mistakes(keys: ServiceKeys, tokens: Pkcs11Tokens): Promise<string[]> {
  const inTokens = listKeys(keys).filter(([, key]) => 'pkcs11Key' in key)
  const problems = await Promise.all(inTokens.map(([, key]) => findSigningProblem(key, tokens)))
  return problems.flatMap((problem, index) =>
    problem === undefined ? [] : [`${inTokens[index]?.[0]}.pkcs11: ${problem}`],
  )
}

/** Returns why the key cannot sign for its certificate, as a sentence; undefined if it can. */
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
