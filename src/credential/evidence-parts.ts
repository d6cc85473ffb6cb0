/** Parts of the evidence that do not depend on a format: the issuer, and the times of a validity. */
import type { KeyObject } from 'node:crypto'

/** The issuer of a presented credential, by what the credential says. */
export interface IssuerEvidence {
  /**
   * The issuers that the credential names, one for each member that names one. A member of another type, or a
   * required one that is missing, is an empty text. Empty if only the certificate names the issuer.
   */
  readonly identifiers: readonly string[]
  /** The certificates of the credential (DER), the issuer's own first. They are not trusted yet. */
  readonly chain: readonly Uint8Array[]
  /**
   * When the issuer signed, for a format that requires this within the certificate's validity: only mdoc (`signed`).
   * The `iat` of JWTs is not used for it.
   */
  readonly signedAt?: Instant
  /** Returns why the key did not sign the credential, as part of a sentence; undefined if it did. */
  signatureProblem(key: KeyObject): string | undefined
}

export interface Validity {
  /** The times that must have come, also those of issuance and signature. */
  readonly notBefore: readonly Instant[]
  readonly notAfter: readonly Instant[]
}

/** A time, and the member that has it. The time is undefined if the member is not a valid time. */
export interface Instant {
  readonly member: string
  readonly at: Date | undefined
}
