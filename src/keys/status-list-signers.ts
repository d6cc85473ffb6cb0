/**
 * The signers of status lists. Each list keeps the key with which it was created, as long as that is configured, since
 * verifiers may know only the certificate of that key.
 */
import type { Signer } from './signer.ts'

/** A signer, and the expiry of its certificate; undefined for a key without certificate. */
export interface CertifiedSigner {
  readonly signer: Signer
  readonly notAfter: Date | undefined
}

export interface StatusListSigners {
  /** The signer of new lists. */
  readonly current: Signer
  /** The signer of lists of earlier releases, which have no `kid`. */
  readonly oldest: Signer
  /**
   * Returns the signer of the list with the key `kid`; the current signer if that key is not configured any more or its
   * certificate has expired.
   */
  readonly findSigner: (kid: string | undefined, now: Date) => CertifiedSigner
}

/** Creates the signers of status lists from all configured keys, the current one first and the oldest last. */
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
