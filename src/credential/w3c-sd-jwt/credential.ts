/**
 * W3C credentials as SD-JWT, with the members of the credential at the root of the payload: issues them, and parses
 * presentations into evidence, without verifying them. VC-JOSE-COSE, Securing with SD-JWT; RFC 9901 sections 7.1 and
 * 7.3.
 */
import { isObject, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import type { Jws } from '../../codec/jws.ts'
import { type ClaimPosition, readSdJwt, type SdJwt } from '../../codec/sd-jwt.ts'
import { jwsSignatureProblem } from '../../keys/signature.ts'
import type { Signer } from '../../keys/signer.ts'
import type { ClaimPath } from '../../protocol/claim-path-text.ts'
import { readConfirmedKey, readX5cHeader, statedTypeText } from '../evidence.ts'
import type { ClaimSource, Configuration, Evidence, HeldCredential, Order } from '../format.ts'
import { issueSdJwt, keyBindingOf, readHeldSdJwt, revealSdJwt, type SdJwtParts } from '../sd-jwt.ts'
import {
  conformanceProblem,
  credentialStatusMember,
  hasOrderedMembers,
  isoSeconds,
  sourceOfMember,
  VCDM_1_CONTEXT,
  WRITTEN_MEMBERS,
  w3cEvidence,
} from '../w3c/members.ts'
import type { W3cMembers } from '../w3c/validation.ts'

export const IDS = ['jwt_vc_json-ld', 'vc+sd-jwt'] as const

/** The members of the payload that secure the credential and do not describe the subject. */
const PROTOCOL_MEMBERS = new Set(['iss', 'iat', 'exp', 'nbf', 'jti', 'sub', 'aud', 'cnf', 'status', '_sd', '_sd_alg'])
/**
 * The members that must not be selectively disclosable. RFC 9901, Security Considerations; VC-JOSE-COSE, Securing with
 * SD-JWT.
 */
const ALWAYS_SHOWN = new Set([...PROTOCOL_MEMBERS, ...WRITTEN_MEMBERS, 'credentialSchema', 'relatedResource'])

/** Issues a W3C credential as an SD-JWT. */
export function issue(
  order: Order<W3cMembers>,
  signer: Signer,
  random: (bytes: number) => Uint8Array,
): Promise<string> {
  const content = {
    typ: 'vc+sd-jwt',
    claims: claimsOf(order),
    clearMembers: credentialStatusMember(order),
    // Each claim of the subject is disclosable separately, at any depth.
    isConcealable: (position: ClaimPosition) => position.length > 1 && position[0] === 'credentialSubject',
  }
  return issueSdJwt(content, order, signer, random)
}

function claimsOf({ configuration, dataset, issuer, issuedAt, expiresAt }: Order<W3cMembers>): JsonObject {
  const { contexts, types } = configuration
  return {
    '@context': [...contexts],
    type: [...types],
    issuer,
    ...datesOf(contexts, isoSeconds(issuedAt), isoSeconds(expiresAt)),
    credentialSubject: memberOf(dataset, 'credentialSubject') as JsonObject,
  }
}

function datesOf(contexts: readonly string[], from: string, until: string): Readonly<Record<string, string>> {
  // VCDM 1.1 requires issuanceDate, and its context also defines validFrom and validUntil.
  const older = contexts[0] === VCDM_1_CONTEXT ? { issuanceDate: from, expirationDate: until } : {}
  return { ...older, validFrom: from, validUntil: until }
}

/** Returns where a claim of a credential comes from; undefined if credentials of the configuration never have it. */
export function sourceOf(path: ClaimPath, configuration: Configuration<W3cMembers>): ClaimSource | undefined {
  return sourceOfMember(path, configuration, Object.keys(datesOf(configuration.contexts, '', '')))
}

/** Parses a presentation. Throws a MalformedError if the text is not an SD-JWT. */
export function read(presentation: string): Evidence {
  return takeApart(readSdJwt(presentation)).evidence
}

function takeApart(sdJwt: SdJwt): SdJwtParts {
  const { payload, header } = sdJwt.jws
  // If there is a `vc`, a selectively disclosable `credentialSubject` beside it would let the holder choose between two
  // credentials.
  const isSubjectBeside = ([name, ...deeper]: ClaimPosition): boolean =>
    name === 'credentialSubject' && deeper.length === 0 && isObject(memberOf(payload, 'vc'))
  const revealedPayload = revealSdJwt(sdJwt, (position) => mustBeShown(position) || isSubjectBeside(position))
  const claims = credentialOf(revealedPayload.payload)
  // Without its disclosures, the members of a credential cannot be judged.
  const memberProblem =
    revealedPayload.problem === undefined
      ? conformanceProblem(payload, claims, mayWithholdSubject(rootOf(payload)))
      : undefined
  const { identifiers, ...members } = w3cEvidence(payload, claims)
  const evidence: Evidence = {
    formatProblem: formatProblemOf(sdJwt.jws) ?? memberProblem,
    issuer: {
      identifiers,
      chain: readX5cHeader(header),
      signatureProblem: (key) => jwsSignatureProblem(sdJwt.jws, key),
    },
    holder: keyBindingOf(sdJwt),
    boundKey: readConfirmedKey(payload),
    disclosuresProblem: revealedPayload.problem,
    claims,
    readClaimsInPlace: () => credentialOf(revealedPayload.readPayloadInPlace()),
    securingMembers: [],
    ...members,
  }
  return { evidence, disclosable: revealedPayload.disclosable }
}

/** Returns why a JWT is not a W3C credential, which has its own `typ` and no `vct`; undefined if it is. */
function formatProblemOf({ header, payload }: Jws): string | undefined {
  const hasVct = memberOf(payload, 'vct') !== undefined
  if (stringMemberOf(header, 'typ') === 'vc+sd-jwt' && !hasVct) return undefined
  return `${statedTypeText(header)}${hasVct ? ', and it has a vct' : ''}`
}

/** Parses an issued credential. Throws a MalformedError if it is invalid or of another format. */
export function readHeld(credential: string): HeldCredential {
  return readHeldSdJwt(credential, takeApart, 'it is not a credential of the W3C (vc+sd-jwt without a vct)')
}

/** Tests whether a credential matches its order. */
export function matchesOrder(order: Order, credential: string): boolean {
  return hasOrderedMembers(order, readHeld(credential))
}

/**
 * Tests whether a claim must not be selectively disclosable, inside `vc` as at the root. This includes everything
 * inside of such a claim.
 */
function mustBeShown(position: ClaimPosition): boolean {
  const [member] = position[0] === 'vc' ? position.slice(1) : position
  // The position of `vc` itself has no further step, and `vc` contains such members.
  return member === undefined || ALWAYS_SHOWN.has(String(member))
}

/** Returns the members of the credential: those of `vc` in a VCDM 1.1 payload. DCQL paths begin there. */
function credentialOf(payload: JsonObject): JsonObject {
  const root = rootOf(payload)
  return Object.fromEntries(Object.entries(root).filter(([name]) => root !== payload || !PROTOCOL_MEMBERS.has(name)))
}

/** Returns the object that has the members of the credential: `vc`, or else the payload. */
function rootOf(payload: JsonObject): JsonObject {
  const vc = memberOf(payload, 'vc')
  return isObject(vc) && memberOf(payload, 'credentialSubject') === undefined ? vc : payload
}

/** Tests whether the issuer signed only digests of the subject, or of claims of the subject. */
function mayWithholdSubject(signedMembers: JsonObject): boolean {
  const subject = memberOf(signedMembers, 'credentialSubject')
  if (subject === undefined) return Object.hasOwn(signedMembers, '_sd')
  return [subject].flat().some((each) => isObject(each) && (Object.hasOwn(each, '_sd') || Object.hasOwn(each, '...')))
}
