/** Refuses requests that need a key in a PKCS #11 token which does not sign now, so that callers come back later. */
import { Pkcs11Error } from '../keys/pkcs11/error.ts'
import { END_AFTER_MS } from '../keys/pkcs11/module.ts'
import type { Pkcs11Tokens } from '../keys/pkcs11/signer.ts'
import { refuse } from '../protocol/error.ts'

/** The seconds after which a module is initialized anew at the latest, and sees a token that is back. */
const RETRY_AFTER_SECONDS = END_AFTER_MS / 1000

/**
 * Returns the tokens with signers that refuse with `temporarily_unavailable` while their key does not sign. The log has
 * the code of the token.
 */
export function withLostTokenRefusal(tokens: Pkcs11Tokens): Pkcs11Tokens {
  return {
    createSigner: (key, chain) => {
      const signer = tokens.createSigner(key, chain)
      return { ...signer, sign: (data) => signer.sign(data).catch(refuseLostToken) }
    },
  }
}

function refuseLostToken(error: unknown): never {
  if (!(error instanceof Pkcs11Error)) throw error
  const description = 'the signing key of this service cannot be reached now; try again in a moment'
  return refuse('temporarily_unavailable', description, { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS })
}
