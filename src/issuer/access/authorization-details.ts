/**
 * Authorization details. A wallet restricts its token to some credential configurations of the session, and the token
 * response lists the credential identifiers. OpenID4VCI 1.0, Using Authorization Details Parameter and Successful Token
 * Response; RFC 9396.
 */
import { isObject, type Json, memberOf, parseJson, stringMemberOf } from '../../codec/json.ts'
import { isClaimPath } from '../../protocol/claim-path.ts'
import { readOrRefuse, refuse } from '../../protocol/error.ts'
import type { AuthorizationDetail } from '../../protocol/oid4vci.ts'

export const AUTHORIZATION_DETAIL_TYPE = 'openid_credential'

const CODE = 'invalid_authorization_details'
const MAX_DETAILS = 50

/**
 * Returns the ids of the credential configurations that a token request asks for, each once. Refuses with
 * `invalid_authorization_details` an object of another `type`, an object that names none of `configurationIds`, an
 * object whose `locations` has none of `issuerIdentifiers`, and an object with malformed `claims`.
 */
export function readAuthorizationDetails(
  text: string,
  configurationIds: readonly string[],
  issuerIdentifiers: readonly string[],
): readonly string[] {
  const details = readOrRefuse(CODE, 'authorization_details', () => parseJson(text))
  if (!Array.isArray(details) || details.length === 0 || details.length > MAX_DETAILS) {
    return refuseDetails(`it must be an array of 1 to ${MAX_DETAILS} objects`)
  }
  const ids = details.map((detail) => readDetail(detail, issuerIdentifiers))
  if (!ids.every((id) => configurationIds.includes(id))) {
    refuseDetails(
      'credential_configuration_id must be one of the offer; without an offer, one that has a scope in the metadata',
    )
  }
  return [...new Set(ids)]
}

/**
 * Makes the `authorization_details` of a token response. A configuration has one dataset in a session, and so exactly
 * one credential identifier.
 */
export function makeGrantedDetails(configurationIds: readonly string[]): AuthorizationDetail[] {
  return configurationIds.map((id) => ({
    type: AUTHORIZATION_DETAIL_TYPE,
    credential_configuration_id: id,
    credential_identifiers: [credentialIdentifierOf(id)],
  }))
}

/** Returns the configuration id for a credential identifier of {@link makeGrantedDetails}. */
export function configurationOfIdentifier(
  configurationIds: readonly string[],
  identifier: unknown,
): string | undefined {
  return configurationIds.find((id) => credentialIdentifierOf(id) === identifier)
}

/**
 * Returns the identifier of the credential of a configuration. The suffix makes it another text than the id, so that a
 * wallet that sends one in the place of the other is refused.
 */
function credentialIdentifierOf(configurationId: string): string {
  return `${configurationId}.0`
}

/** Returns the id of the configuration that one object asks for. Refuses its other members if they are malformed. */
function readDetail(detail: Json, issuerIdentifiers: readonly string[]): string {
  if (!isObject(detail) || memberOf(detail, 'type') !== AUTHORIZATION_DETAIL_TYPE)
    return refuseDetails(`its type must be ${AUTHORIZATION_DETAIL_TYPE}`)
  const locations = memberOf(detail, 'locations')
  if (locations !== undefined) {
    const namesThisIssuer =
      Array.isArray(locations) && locations.some((each) => issuerIdentifiers.some((name) => name === each))
    if (!namesThisIssuer) refuseDetails('its locations must contain the credential issuer identifier')
  }
  const claims = memberOf(detail, 'claims')
  if (claims !== undefined && !isClaimsMember(claims))
    refuseDetails('its claims must be an array of objects with a path')
  return (
    stringMemberOf(detail, 'credential_configuration_id') ?? refuseDetails('its credential_configuration_id is missing')
  )
}

/** Tests whether `claims` has the form of OpenID4VCI 1.0, or the object of drafts up to 14. Its content is ignored. */
function isClaimsMember(claims: Json): boolean {
  if (!Array.isArray(claims)) return isObject(claims)
  return claims.length > 0 && claims.every((each) => isPathOfClaim(memberOf(each, 'path')))
}

function isPathOfClaim(path: Json | undefined): boolean {
  return isClaimPath(path) && path.length > 0
}

function refuseDetails(reason: string): never {
  return refuse(CODE, `authorization_details: ${reason}`)
}
