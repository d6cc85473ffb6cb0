/**
 * The signers of status lists. A list goes on being signed by the key that it was begun with, as long as the
 * configuration has that key: its verifiers know the certificate of that key, and need not know a newer one.
 */
import type { Signer } from './signer.ts'

/** A signer, and the end of its certificate's validity; undefined for a key without a certificate. */
export interface CertifiedSigner {
  readonly signer: Signer
  readonly notAfter: Date | undefined
}

export interface StatusListSigners {
  /** The signer of the lists that are begun now. */
  readonly current: Signer
  /** The signer of the lists that do not say which key they were begun with, as those of earlier releases. */
  readonly oldest: Signer
  /**
   * Returns the signer of a list that was begun with the key `kid`; the current one where that key is gone, or its
   * certificate is over.
   */
  readonly findSigner: (kid: string | undefined, now: Date) => CertifiedSigner
}

/**
 * Makes the signers of status lists from all keys that the configuration has, the current one first and the oldest
 * last.
 */
export function createStatusListSigners(signers: readonly CertifiedSigner[]): StatusListSigners {
  const [current, oldest] = [signers[0], signers.at(-1)]
  if (current === undefined || oldest === undefined) throw new TypeError('status lists without a signer')
  return {
    current: current.signer,
    oldest: oldest.signer,
    findSigner: (kid = oldest.signer.kid, now) => {
      const own = signers.find(({ signer }) => signer.kid === kid)
      const isExpired = own?.notAfter !== undefined && own.notAfter < now
      return own === undefined || isExpired ? current : own
    },
  }
}
