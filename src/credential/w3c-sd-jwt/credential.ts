/**
 * A W3C credential as SD-JWT, its members at the root of the payload: how it is written, and how a presentation of it
 * is taken apart into evidence, without judging it. VC-JOSE-COSE, Securing with SD-JWT; RFC 9901 sections 7.1 and 7.3.
 */
import { isObject, type JsonObject, own, ownString } from '../../codec/json.ts'
import { type ClaimPosition, readSdJwt, type SdJwt } from '../../codec/sd-jwt.ts'
import { isJwsSignedBy } from '../../keys/signature.ts'
import type { Signer } from '../../keys/signer.ts'
import { chainOf, readConfirmedKey, statedTypeText } from '../evidence.ts'
import type { Evidence, HeldCredential, Order } from '../format.ts'
import { holdSdJwt, issueSdJwt, keyBindingOf, revealSdJwt, type SdJwtParts } from '../sd-jwt.ts'
import { credentialStatusMember, hasOrderedMembers, isoSeconds, VCDM_1_CONTEXT, w3cEvidence } from '../w3c/members.ts'
import type { W3cMembers } from '../w3c/schema.ts'

export const IDS = ['jwt_vc_json-ld', 'vc+sd-jwt'] as const

/** The members of the payload that are about securing the credential and not about its subject. */
const PROTOCOL_MEMBERS = new Set(['iss', 'iat', 'exp', 'nbf', 'jti', 'sub', 'aud', 'cnf', 'status', '_sd', '_sd_alg'])
/**
 * The members that are never disclosed selectively. RFC 9901, Security Considerations; VC-JOSE-COSE, Securing with
 * SD-JWT.
 */
const ALWAYS_SHOWN = new Set([
  ...PROTOCOL_MEMBERS,
  '@context',
  'type',
  'issuer',
  'validFrom',
  'validUntil',
  'issuanceDate',
  'expirationDate',
  'credentialStatus',
  'credentialSchema',
  'relatedResource',
])

export function issue(
  order: Order<W3cMembers>,
  signer: Signer,
  random: (bytes: number) => Uint8Array,
): Promise<string> {
  const content = {
    typ: 'vc+sd-jwt',
    claims: claimsOf(order),
    clearMembers: credentialStatusMember(order),
    // Every claim of the subject on its own.
    isConcealable: (position: ClaimPosition) => position.length > 1 && position[0] === 'credentialSubject',
  }
  return issueSdJwt(content, order, signer, random)
}

function claimsOf({ configuration, dataset, issuer, issuedAt, expiresAt }: Order<W3cMembers>): JsonObject {
  const { contexts, types } = configuration
  const [from, until] = [isoSeconds(issuedAt), isoSeconds(expiresAt)]
  return {
    '@context': [...contexts],
    type: [...types],
    issuer,
    // VCDM 1.1 requires issuanceDate; its context knows validFrom and validUntil too.
    ...(contexts[0] === VCDM_1_CONTEXT ? { issuanceDate: from, expirationDate: until } : {}),
    validFrom: from,
    validUntil: until,
    credentialSubject: own(dataset, 'credentialSubject') as JsonObject,
  }
}

/** Reads a presentation. Throws a MalformedError when the text is not an SD-JWT at all. */
export function read(presentation: string): Evidence {
  return takeApart(readSdJwt(presentation)).evidence
}

function takeApart(sdJwt: SdJwt): SdJwtParts {
  const { payload, header } = sdJwt.jws
  // Beside a `vc`, a subject that the holder can show or hide would decide which of two credentials this is.
  const isSubjectBeside = ([name, ...deeper]: ClaimPosition): boolean =>
    name === 'credentialSubject' && deeper.length === 0 && isObject(own(payload, 'vc'))
  const revealedPayload = revealSdJwt(sdJwt, (position) => mustBeShown(position) || isSubjectBeside(position))
  const claims = credentialOf(revealedPayload.payload)
  const { identifiers, ...members } = w3cEvidence(payload, claims)
  const evidence: Evidence = {
    formats: ownString(header, 'typ') === 'vc+sd-jwt' && own(payload, 'vct') === undefined ? IDS : [],
    statedFormat: `${statedTypeText(header)}${own(payload, 'vct') === undefined ? '' : ', and it has a vct'}`,
    issuer: { identifiers, chain: chainOf(header), isSignedBy: (key) => isJwsSignedBy(sdJwt.jws, key) },
    holder: keyBindingOf(sdJwt),
    boundKey: readConfirmedKey(payload),
    disclosuresProblem: revealedPayload.problem,
    claims,
    envelope: [],
    ...members,
  }
  return { evidence, hidable: revealedPayload.hidable }
}

export function hold(credential: string): HeldCredential {
  return holdSdJwt(credential, takeApart, 'it is not a credential of the W3C (vc+sd-jwt without a vct)')
}

export function fulfils(order: Order, credential: string): boolean {
  return hasOrderedMembers(order, hold(credential))
}

/**
 * Tests whether the holder must show a claim, at any depth, and inside `vc` as at the root: half a type or an issuer
 * without its name is no better than none.
 */
function mustBeShown(position: ClaimPosition): boolean {
  const [member] = position[0] === 'vc' ? position.slice(1) : position
  // No member is left where it is `vc` itself, which has them all.
  return member === undefined || ALWAYS_SHOWN.has(String(member))
}

/** Returns the credential's own claims. A VCDM 1.1 payload carries them in `vc`, and DCQL paths are rooted there. */
function credentialOf(payload: JsonObject): JsonObject {
  const vc = own(payload, 'vc')
  const root = isObject(vc) && own(payload, 'credentialSubject') === undefined ? vc : payload
  return Object.fromEntries(Object.entries(root).filter(([name]) => root === vc || !PROTOCOL_MEMBERS.has(name)))
}
