/**
 * The credential issuer identifiers: one for each session, and one for the service. OpenID4VCI 1.0, Credential Issuer
 * Identifier.
 */

interface AddressConfig {
  readonly baseUrl: string
}

/** Returns the identifier of the session, or of the service if `sessionId` is undefined. */
export function credentialIssuerIdentifier({ baseUrl }: AddressConfig, sessionId: string | undefined): string {
  return sessionId === undefined ? baseUrl : `${baseUrl}/${sessionId}`
}

/** Returns the identifiers that a wallet of the session may use. */
export function acceptedIdentifiers(config: AddressConfig, sessionId: string | undefined): readonly string[] {
  return [sessionId, undefined].map((id) => credentialIssuerIdentifier(config, id))
}

/**
 * Returns the accepted values of `aud` in key proofs and external access tokens. Each identifier is accepted with a
 * trailing slash too, because some wallets and servers add one to an origin.
 */
export function acceptedAudiences(config: AddressConfig, sessionId: string): readonly string[] {
  return acceptedIdentifiers(config, sessionId).flatMap((id) => [id, `${id}/`])
}
