/** Parses a presentation of an SD-JWT VC into evidence, without verifying it. SD-JWT VC; RFC 9901. */
import { isDeepStrictEqual } from 'node:util'
import { type JsonObject, memberOf, stringMemberOf, stringsIn } from '../../codec/json.ts'
import { type ClaimPosition, readSdJwt, type SdJwt } from '../../codec/sd-jwt.ts'
import { jwsSignatureProblem } from '../../keys/signature.ts'
import {
  hasOrderedStatus,
  namesOf,
  readConfirmedKey,
  readNumericDate,
  readX5cHeader,
  statedTypeText,
  statusObject,
} from '../evidence.ts'
import type { Evidence, HeldCredential, Order } from '../format.ts'
import { keyBindingOf, readHeldSdJwt, revealSdJwt, type SdJwtParts } from '../sd-jwt.ts'
import { ALWAYS_SHOWN, claimsOf, type SdJwtVcMembers, SECURING_MEMBERS } from './validation.ts'

export const IDS = ['dc+sd-jwt'] as const

/** Parses a presentation. Throws a MalformedError if the text is not an SD-JWT. */
export function read(presentation: string): Evidence {
  return takeApart(readSdJwt(presentation)).evidence
}

function takeApart(sdJwt: SdJwt): SdJwtParts {
  const { payload, header } = sdJwt.jws
  const { payload: claims, readPayloadInPlace, disclosable, problem } = revealSdJwt(sdJwt, mustBeShown)
  const vct = stringMemberOf(payload, 'vct')
  const evidence: Evidence = {
    formatProblem: isSdJwtVc(sdJwt, claims, problem)
      ? undefined
      : `${statedTypeText(header)}${vct ? '' : ', and it has no vct'}`,
    issuer: {
      // Without `iss`, the certificate identifies the issuer. SD-JWT VC, Issuer Signature Mechanisms.
      identifiers: namesOf([memberOf(payload, 'iss')]),
      chain: readX5cHeader(header),
      signatureProblem: (key) => jwsSignatureProblem(sdJwt.jws, key),
    },
    holder: keyBindingOf(sdJwt),
    boundKey: readConfirmedKey(payload),
    disclosuresProblem: problem,
    claims,
    readClaimsInPlace: readPayloadInPlace,
    securingMembers: SECURING_MEMBERS,
    types: vct === undefined ? [] : [vct, ...otherTypesOf(payload, vct)],
    validity: {
      notBefore: [readNumericDate(payload, 'nbf'), readNumericDate(payload, 'iat')].flat(),
      notAfter: readNumericDate(payload, 'exp'),
    },
    status: statusObject(memberOf(payload, 'status')),
  }
  return { evidence, disclosable }
}

/** Returns the types in `aka_vcts`; none if it is not an array of strings without the `vct`. SD-JWT VC. */
function otherTypesOf(payload: JsonObject, vct: string): readonly string[] {
  const value = memberOf(payload, 'aka_vcts')
  const types = stringsIn(value)
  return Array.isArray(value) && types.length === value.length && !types.includes(vct) ? types : []
}

/**
 * Tests whether a credential is an SD-JWT VC by its `typ` and `vct`. Drafts up to 18 also used the `typ` `vc+sd-jwt`,
 * which is that of W3C credentials: it is accepted with a `vct` and without `@context`.
 */
function isSdJwtVc({ jws: { header, payload } }: SdJwt, claims: JsonObject, problem: string | undefined): boolean {
  const [typ, vct] = [stringMemberOf(header, 'typ'), stringMemberOf(payload, 'vct')]
  // If a disclosure is invalid, `vct` may be hidden by it and does not count as missing.
  if (typ === 'dc+sd-jwt') return Boolean(vct) || problem !== undefined
  const isW3c = [payload, claims].some((members) => memberOf(members, '@context') !== undefined)
  return typ === 'vc+sd-jwt' && Boolean(vct) && !isW3c
}

/** Parses an issued SD-JWT VC. Throws a MalformedError if it is invalid or of another format. */
export function readHeld(credential: string): HeldCredential {
  return readHeldSdJwt(credential, takeApart, 'it is not an SD-JWT VC (dc+sd-jwt with a vct)')
}

/** Tests whether a credential matches its order. */
export function matchesOrder(order: Order<SdJwtVcMembers>, credential: string): boolean {
  const heldCredential = readHeld(credential)
  const subjectClaims = Object.entries(heldCredential.claims).filter(([name]) => !SECURING_MEMBERS.includes(name))
  const { akaVcts, typeIntegrity } = order.configuration
  const hasTypes =
    isDeepStrictEqual(memberOf(heldCredential.claims, 'aka_vcts'), akaVcts) &&
    memberOf(heldCredential.claims, 'vct#integrity') === typeIntegrity
  const hasClaims = isDeepStrictEqual(Object.fromEntries(subjectClaims), claimsOf(order.dataset))
  return hasClaims && hasTypes && hasOrderedStatus(order, heldCredential)
}

/** Tests whether one of the types of the credential, `vct` or `aka_vcts`, is in `vct_values`. */
export function matchesMeta({ types }: Pick<Evidence, 'types'>, meta: JsonObject): boolean {
  const vctValues = memberOf(meta, 'vct_values')
  return (
    vctValues === undefined || (Array.isArray(vctValues) && vctValues.some((vct) => types.some((type) => type === vct)))
  )
}

/** Tests whether a claim must not be selectively disclosable. This includes everything inside of such a claim. */
function mustBeShown([member]: ClaimPosition): boolean {
  return ALWAYS_SHOWN.includes(String(member))
}
