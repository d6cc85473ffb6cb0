/**
 * Parses a W3C credential as JWT, or a VP-JWT with one, into evidence, without verifying it. VCDM 1.1, JSON Web Token;
 * OpenID4VP 1.0, W3C Verifiable Credentials, VC signed as a JWT, not using JSON-LD.
 */
import { isObject, type Json, type JsonObject, memberOf, refuseMany, stringMemberOf } from '../../codec/json.ts'
import { type Jws, readJws, readOnlyAudience } from '../../codec/jws.ts'
import { malformed, readPart } from '../../codec/malformed.ts'
import { MAX_PAYLOAD_VALUES } from '../../codec/sd-jwt.ts'
import { didOf, readDid } from '../../keys/did.ts'
import { importPublicKey } from '../../keys/jwk.ts'
import { jwsSignatureProblem } from '../../keys/signature.ts'
import {
  approvalProblemOfNone,
  earliestEnd,
  makeBoundKey,
  namesOf,
  readConfirmedKey,
  readNumericDate,
  readOneOrMoreStrings,
  readPresentationTime,
  readX5cHeader,
  statedTypeText,
} from '../evidence.ts'
import type { Evidence, HeldCredential, HolderEvidence, Order } from '../format.ts'
import { conformanceProblem, hasOrderedMembers, w3cEvidence } from '../w3c/members.ts'
import { subjectOf } from './subject.ts'
import type { W3cJwtMembers } from './validation.ts'

export const IDS = ['jwt_vc_json'] as const

/**
 * Parses a credential, or a presentation of one. Throws a MalformedError if the text is not a JWT, or if the
 * presentation does not have exactly one credential.
 */
export function read(presentation: string): Evidence {
  const outer = readJws(presentation)
  const vp = memberOf(outer.payload, 'vp')
  if (vp === undefined) return evidenceOf(outer, undefined)
  const credential = readPart('the credential in vp', () => readJws(readSingleCredential(vp)))
  return evidenceOf(credential, holderEvidence(outer, vp))
}

/** Parses an issued credential. Throws a MalformedError if it is of another format. */
export function readHeld(credential: string): HeldCredential {
  const jws = readJws(credential)
  const evidence = evidenceOf(jws, undefined)
  const { formatProblem } = evidence
  if (formatProblem !== undefined) malformed(`it is not a VC of VCDM 1.1 (JWT with a vc): ${formatProblem}`)
  return { ...evidence, disclosable: [], expiresAt: earliestEnd(evidence.validity) }
}

/** Tests whether a credential matches its order. */
export function matchesOrder(order: Order<W3cJwtMembers>, credential: string): boolean {
  return hasOrderedMembers({ ...order, dataset: { credentialSubject: subjectOf(order) } }, readHeld(credential))
}

function evidenceOf(jws: Jws, holder: HolderEvidence | undefined): Evidence {
  const { payload, header } = jws
  const vc = memberOf(payload, 'vc')
  const claims = isObject(vc) ? vc : {}
  // An SD-JWT may have as many values.
  readPart('the credential', () => refuseMany(claims, MAX_PAYLOAD_VALUES))
  const { identifiers, ...members } = w3cEvidence(payload, claims)
  return {
    formatProblem:
      isJwt(header) && isObject(vc)
        ? conformanceProblem(payload, vc, false)
        : `${statedTypeText(header)}${isObject(vc) ? '' : ', and it has no vc'}`,
    issuer: { identifiers, chain: readX5cHeader(header), signatureProblem: (key) => jwsSignatureProblem(jws, key) },
    holder,
    boundKey: boundKeyOf(payload, claims),
    disclosuresProblem: undefined,
    claims: decodeMembers(payload, claims),
    securingMembers: [],
    ...members,
  }
}

/**
 * Returns the only credential of a presentation. Several would make it ambiguous which one answers the credential
 * query.
 */
function readSingleCredential(vp: Json): string {
  const credentials = isObject(vp) ? memberOf(vp, 'verifiableCredential') : malformed('vp is not an object')
  const [credential, ...more] = Array.isArray(credentials) ? credentials : [credentials]
  if (more.length > 0) malformed('a presentation for a credential query has one credential, and this one has several')
  return typeof credential === 'string' ? credential : malformed('verifiableCredential is not a JWT as text')
}

function holderEvidence(jws: Jws, vp: Json): HolderEvidence {
  const { header, payload } = jws
  return {
    problem: isObject(vp) ? presentationProblem(header, vp) : undefined,
    signatureProblem: (key) => jwsSignatureProblem(jws, importPublicKey(key)),
    nonce: stringMemberOf(payload, 'nonce'),
    audience: readOnlyAudience(payload),
    presentedAt: readPresentationTime(payload),
    validity: { notBefore: readNumericDate(payload, 'nbf'), notAfter: readNumericDate(payload, 'exp') },
    coversPresentation: true,
    approvalProblem: approvalProblemOfNone,
  }
}

function presentationProblem(header: JsonObject, vp: JsonObject): string | undefined {
  if (!isJwt(header)) return 'the type of the presentation is not JWT'
  const types = readOneOrMoreStrings(memberOf(vp, 'type'))
  return types.includes('VerifiablePresentation') ? undefined : 'vp is not of the type VerifiablePresentation'
}

/** Tests whether `typ` is `JWT`, in letters of any size, or absent. VCDM 1.1, JWT Encoding; RFC 7519 section 5.1. */
function isJwt(header: JsonObject): boolean {
  return !Object.hasOwn(header, 'typ') || stringMemberOf(header, 'typ')?.toUpperCase() === 'JWT'
}

/** Returns the members of the credential, with those that the JWT claims represent. VCDM 1.1, JWT Decoding. */
function decodeMembers(payload: JsonObject, vc: JsonObject): JsonObject {
  const [iss, jti, sub] = [
    stringMemberOf(payload, 'iss'),
    stringMemberOf(payload, 'jti'),
    stringMemberOf(payload, 'sub'),
  ]
  const subject = memberOf(vc, 'credentialSubject')
  return {
    ...(jti !== undefined ? { id: jti } : {}),
    ...(iss !== undefined ? { issuer: iss } : {}),
    ...vc,
    ...(isObject(subject) && sub !== undefined ? { credentialSubject: { id: sub, ...subject } } : {}),
  }
}

/** Returns the bound key: that in `cnf`, or else that of the subject's DID. Returns a problem if there is none. */
function boundKeyOf(payload: JsonObject, vc: JsonObject): Evidence['boundKey'] {
  if (memberOf(payload, 'cnf') !== undefined) return readConfirmedKey(payload)
  const subject = memberOf(vc, 'credentialSubject')
  const [did, ...others] = namesOf([memberOf(payload, 'sub'), memberOf(subject, 'id')])
  if (did === undefined)
    return { problem: 'the credential is bound to no key (it has no cnf, and no sub that is a DID)' }
  if (others.some((other) => other !== did)) return { problem: 'sub and the id of the credentialSubject differ' }
  return makeBoundKey('the subject is not a key', () => readDid(didOf(did)))
}
