/** Credential offers, by value or by reference. OpenID4VCI 1.0, Credential Offer. */
import { isObject, type Json, type JsonObject, memberOf, parseJsonObject, stringMemberOf } from '../codec/json.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from '../protocol/grant-types.ts'
import { requireAddress } from './address.ts'
import type { WalletContext } from './context.ts'
import { readOrRefuseWith, refuseWith } from './error.ts'
import { exchangeJson } from './exchange.ts'
import { readLink } from './link.ts'

/** The description of a transaction code; all members are optional. */
export interface TxCodeDescription {
  readonly inputMode: 'numeric' | 'text'
  readonly length: number | undefined
  readonly description: string | undefined
}

/** The grant of the offer that the wallet uses; the pre-authorized code if the offer has both. */
export type OfferedGrant =
  | {
      readonly name: 'pre-authorized_code'
      readonly preAuthorizedCode: string
      /** The description of the transaction code, if one is required. */
      readonly txCode: TxCodeDescription | undefined
    }
  | { readonly name: 'authorization_code'; readonly issuerState: string | undefined }

export interface ReceivedOffer {
  readonly credentialIssuer: string
  readonly configurationIds: readonly string[]
  readonly grant: OfferedGrant
  /** The authorization server in the offer, if the issuer has several. */
  readonly authorizationServer: string | undefined
}

const SCHEMES = ['haip-vci', 'openid-credential-offer']
const MAX_CREDENTIALS = 20
const MAX_DESCRIPTION = 300

/**
 * Reads the offer of a link. Refuses with `invalid_link`, `invalid_offer`, or with `unsupported` an offer that this
 * wallet does not support.
 */
export async function readOffer(wallet: WalletContext, link: string): Promise<ReceivedOffer> {
  const parameters = readLink(link, SCHEMES, 'credential offer')
  const [value, uri] = [parameters.get('credential_offer'), parameters.get('credential_offer_uri')]
  if ((value === undefined) === (uri === undefined)) {
    return refuseWith(
      'invalid_link',
      'the link must have exactly one of credential_offer and credential_offer_uri; was it pasted without quotes?',
    )
  }
  if (value !== undefined) {
    return readOfferObject(
      readOrRefuseWith('invalid_offer', 'the offer in the link cannot be read', () => parseJsonObject(value)),
    )
  }
  const offer = await exchangeJson(wallet, {
    what: 'fetched the credential offer',
    means: 'The link only points to the offer. It names the issuer, the credentials, and a code that is good once.',
    spec: 'OpenID4VCI 1.0, Sending Credential Offer by Reference',
    url: requireAddress(uri, 'credential_offer_uri', 'invalid_link'),
  })
  return readOfferObject(offer)
}

function readOfferObject(offer: JsonObject): ReceivedOffer {
  const grants = memberOf(offer, 'grants')
  const [preAuthorizedGrant, authorizationCodeGrant] = [PRE_AUTHORIZED_GRANT, AUTHORIZATION_CODE_GRANT].map((name) =>
    memberOf(grants, name),
  )
  const grant = [preAuthorizedGrant, authorizationCodeGrant].find(isObject)
  if (grant === undefined) {
    return refuseWith('unsupported', 'the offer has no pre-authorized code and no authorization code flow')
  }
  return {
    credentialIssuer: readIdentifier(memberOf(offer, 'credential_issuer')),
    configurationIds: readConfigurationIds(memberOf(offer, 'credential_configuration_ids')),
    grant: grant === preAuthorizedGrant ? readPreAuthorizedGrant(grant) : readAuthorizationCodeGrant(grant),
    authorizationServer: stringMemberOf(grant, 'authorization_server'),
  }
}

function readPreAuthorizedGrant(grant: JsonObject): OfferedGrant {
  return {
    name: 'pre-authorized_code',
    preAuthorizedCode:
      stringMemberOf(grant, 'pre-authorized_code') ||
      refuseWith('invalid_offer', 'the pre-authorized_code of the offer is missing'),
    // A code is required if `tx_code` is present, even if it is empty.
    txCode: Object.hasOwn(grant, 'tx_code') ? readTxCode(memberOf(grant, 'tx_code')) : undefined,
  }
}

function readAuthorizationCodeGrant(grant: JsonObject): OfferedGrant {
  const issuerState = memberOf(grant, 'issuer_state')
  if (issuerState === undefined || typeof issuerState === 'string') return { name: 'authorization_code', issuerState }
  return refuseWith('invalid_offer', 'the issuer_state of the offer is not a string')
}

/** Reads the description of the transaction code. Ignores invalid members, since it is only for display. */
function readTxCode(value: Json | undefined): TxCodeDescription {
  const [mode, length, description] = ['input_mode', 'length', 'description'].map((name) => memberOf(value, name))
  return {
    inputMode: mode === 'text' ? 'text' : 'numeric',
    length: typeof length === 'number' ? length : undefined,
    description: typeof description === 'string' ? description.slice(0, MAX_DESCRIPTION) : undefined,
  }
}

function readIdentifier(value: unknown): string {
  const identifier = requireAddress(value, 'credential_issuer', 'invalid_offer')
  // OpenID4VCI 1.0, Credential Issuer Identifier
  if (/[?#]/.test(identifier)) refuseWith('invalid_offer', 'credential_issuer has a query or a fragment')
  return identifier
}

function readConfigurationIds(value: unknown): readonly string[] {
  const ids = Array.isArray(value) ? value.filter((id) => typeof id === 'string') : []
  if (!Array.isArray(value) || ids.length === 0 || ids.length !== value.length || new Set(ids).size !== ids.length) {
    refuseWith('invalid_offer', 'credential_configuration_ids must be a non-empty array of different strings')
  }
  if (ids.length > MAX_CREDENTIALS) refuseWith('unsupported', `the offer has more than ${MAX_CREDENTIALS} credentials`)
  return ids
}
