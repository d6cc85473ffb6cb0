/** The credential offer: what an issuer has for us, by value in the link or by reference. OpenID4VCI 1.0, Credential Offer. */
import { isObject, type JsonObject, own, ownString, parseJsonObject } from '../codec/json.ts'
import { PRE_AUTHORIZED_GRANT } from '../protocol/grant.ts'
import { readAddress } from './address.ts'
import type { WalletContext } from './context.ts'
import { orRefuse, refuse } from './error.ts'
import { exchangeJson } from './exchange.ts'
import { readLink } from './link.ts'

export interface CredentialOffer {
  readonly credentialIssuer: string
  readonly configurationIds: readonly string[]
  readonly preAuthorizedCode: string
  /** The one the offer wants us to use, where the issuer has several. */
  readonly authorizationServer: string | undefined
}

const SCHEMES = ['haip-vci', 'openid-credential-offer']
const MAX_CREDENTIALS = 20

/** Refuses with `invalid_link`, `invalid_offer`, or `unsupported` where it wants what this wallet cannot do yet. */
export async function readOffer(wallet: WalletContext, link: string): Promise<CredentialOffer> {
  const parameters = readLink(link, SCHEMES, 'credential offer')
  const [value, uri] = [parameters.get('credential_offer'), parameters.get('credential_offer_uri')]
  if ((value === undefined) === (uri === undefined)) {
    return refuse(
      'invalid_link',
      'the link must have exactly one of credential_offer and credential_offer_uri; was it pasted without quotes?',
    )
  }
  if (value !== undefined) {
    return offerOf(orRefuse('invalid_offer', 'the offer in the link cannot be read', () => parseJsonObject(value)))
  }
  const offer = await exchangeJson(wallet, {
    what: 'fetched the credential offer',
    means: 'The link only points to the offer. It names the issuer, the credentials, and a code that is good once.',
    spec: 'OpenID4VCI 1.0, Sending Credential Offer by Reference',
    url: readAddress(uri, 'credential_offer_uri', 'invalid_link'),
  })
  return offerOf(offer)
}

function offerOf(offer: JsonObject): CredentialOffer {
  const grants = own(offer, 'grants')
  const grant = isObject(grants) ? own(grants, PRE_AUTHORIZED_GRANT) : undefined
  if (!isObject(grant)) {
    return refuse('unsupported', 'the offer has no pre-authorized code, and this wallet supports no other grant yet')
  }
  // Its presence means that a code is required, even when it is empty.
  if (Object.hasOwn(grant, 'tx_code')) {
    refuse(
      'unsupported',
      'the issuer wants a transaction code (PIN) as well, and this wallet does not support that yet',
    )
  }
  return {
    credentialIssuer: readIdentifier(own(offer, 'credential_issuer')),
    configurationIds: readIds(own(offer, 'credential_configuration_ids')),
    preAuthorizedCode:
      ownString(grant, 'pre-authorized_code') || refuse('invalid_offer', 'the code of the offer is missing'),
    authorizationServer: ownString(grant, 'authorization_server'),
  }
}

function readIdentifier(value: unknown): string {
  const identifier = readAddress(value, 'credential_issuer', 'invalid_offer')
  // OpenID4VCI 1.0, Credential Issuer Identifier
  if (/[?#]/.test(identifier)) refuse('invalid_offer', 'credential_issuer has a query or a fragment')
  return identifier
}

function readIds(value: unknown): readonly string[] {
  const ids = Array.isArray(value) ? value.filter((id) => typeof id === 'string') : []
  if (!Array.isArray(value) || ids.length === 0 || ids.length !== value.length || new Set(ids).size !== ids.length) {
    refuse('invalid_offer', 'credential_configuration_ids must be a non-empty array of different strings')
  }
  if (ids.length > MAX_CREDENTIALS) refuse('unsupported', `the offer has more than ${MAX_CREDENTIALS} credentials`)
  return ids
}
