/** The credential offer: what an issuer has for us, by value in the link or by reference. OpenID4VCI 1.0, Credential Offer. */
import { isObject, type Json, type JsonObject, memberOf, own, ownString, parseJsonObject } from '../codec/json.ts'
import { PRE_AUTHORIZED_GRANT } from '../protocol/grant.ts'
import { readAddress } from './address.ts'
import type { WalletContext } from './context.ts'
import { orRefuse, refuse } from './error.ts'
import { exchangeJson } from './exchange.ts'
import { readLink } from './link.ts'

/** What an offer says of its transaction code, each where it says so. */
export interface AskedTxCode {
  readonly inputMode: 'numeric' | 'text'
  readonly length: number | undefined
  readonly description: string | undefined
}

export interface CredentialOffer {
  readonly credentialIssuer: string
  readonly configurationIds: readonly string[]
  readonly preAuthorizedCode: string
  /** What the holder has to type in, where the issuer wants that. */
  readonly txCode: AskedTxCode | undefined
  /** The one the offer wants us to use, where the issuer has several. */
  readonly authorizationServer: string | undefined
}

const SCHEMES = ['haip-vci', 'openid-credential-offer']
const MAX_CREDENTIALS = 20
const MAX_DESCRIPTION = 300

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
  return {
    credentialIssuer: readIdentifier(own(offer, 'credential_issuer')),
    configurationIds: readIds(own(offer, 'credential_configuration_ids')),
    preAuthorizedCode:
      ownString(grant, 'pre-authorized_code') || refuse('invalid_offer', 'the code of the offer is missing'),
    // Its presence means that a code is required, even when it is empty.
    txCode: Object.hasOwn(grant, 'tx_code') ? readTxCode(own(grant, 'tx_code')) : undefined,
    authorizationServer: ownString(grant, 'authorization_server'),
  }
}

/** What cannot be understood of it is left aside: the issuer decides whether the code is right. */
function readTxCode(value: Json | undefined): AskedTxCode {
  const [mode, length, description] = ['input_mode', 'length', 'description'].map((name) => memberOf(value, name))
  return {
    inputMode: mode === 'text' ? 'text' : 'numeric',
    length: typeof length === 'number' ? length : undefined,
    description: typeof description === 'string' ? description.slice(0, MAX_DESCRIPTION) : undefined,
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
