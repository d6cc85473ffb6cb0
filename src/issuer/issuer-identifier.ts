/**
 * The identifiers of the issuer: wallets know it by that of a session, or by that of the service. OpenID4VCI 1.0,
 * Credential Issuer Identifier.
 */

interface AddressConfig {
  readonly baseUrl: string
}

/** Returns the credential issuer identifier of a session, or of the service. */
export function credentialIssuerIdentifier({ baseUrl }: AddressConfig, sessionId: string | undefined): string {
  return sessionId === undefined ? baseUrl : `${baseUrl}/${sessionId}`
}

/** Returns the identifiers by which a wallet with the session may know the issuer. */
export function acceptedIdentifiers(config: AddressConfig, sessionId: string | undefined): readonly string[] {
  return [sessionId, undefined].map((id) => credentialIssuerIdentifier(config, id))
}

/**
 * Returns the values of `aud` by which key proofs and tokens of other servers may name the issuer. Some wallets and
 * authorization servers write an origin with a slash at its end, so that each identifier is taken with it too.
 */
export function acceptedAudiences(config: AddressConfig, sessionId: string): readonly string[] {
  return acceptedIdentifiers(config, sessionId).flatMap((id) => [id, `${id}/`])
}
