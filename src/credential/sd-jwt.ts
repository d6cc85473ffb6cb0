/**
 * The common part of the SD-JWT formats: issuing, presenting, and parsing of disclosures and key binding. RFC 9901; RFC
 * 7800 section 3.2; OpenID4VP 1.0, IETF SD-JWT VC, for the key binding.
 */
import { type JsonObject, memberOf, stringMemberOf } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { malformed, readOrProblem } from '../codec/malformed.ts'
import {
  type ClaimPosition,
  completeSdJwt,
  computeSdHash,
  concealClaims,
  readSdJwt,
  revealClaims,
  type SdJwt,
} from '../codec/sd-jwt.ts'
import { epochSeconds } from '../codec/time.ts'
import { importPublicKey } from '../keys/jwk.ts'
import { joseAlgorithms, jwsSignatureProblem } from '../keys/signature.ts'
import type { Signer } from '../keys/signer.ts'
import { isWithin, stepMatches } from '../protocol/claim-path.ts'
import { approvalProblem, makeApproval } from '../protocol/transaction-data.ts'
import { earliestEnd, readNumericDate, readPresentationTime, statusMember } from './evidence.ts'
import type { Instant } from './evidence-parts.ts'
import type { Binding, Configuration, Evidence, HeldCredential, HolderEvidence, Order } from './format.ts'

/** The content of an SD-JWT to issue. */
export interface SdJwtContent {
  readonly typ: string
  readonly claims: JsonObject
  /** Members that are never selectively disclosable, whatever the configuration says. */
  readonly clearMembers?: JsonObject
  /** Tests whether `selective_disclosure: "all"` makes the claim at this position selectively disclosable. */
  readonly isConcealable: (position: ClaimPosition) => boolean
}

/** Issues an SD-JWT with the given content, for the holder key and the validity of `order`. */
export async function issueSdJwt(
  { typ, claims, clearMembers, isConcealable }: SdJwtContent,
  order: Order,
  signer: Signer,
  random: (bytes: number) => Uint8Array,
): Promise<string> {
  const concealedClaims = concealClaims(claims, concealmentTest(order.configuration, isConcealable), random)
  const payload: JsonObject = {
    ...concealedClaims.payload,
    ...clearMembers,
    iss: order.issuer,
    iat: epochSeconds(order.issuedAt),
    exp: epochSeconds(order.expiresAt),
    cnf: { jwk: { ...order.holderKey } },
    ...statusMember(order),
  }
  const header = { typ, alg: signer.alg, x5c: [...signer.x5c] }
  const jwt = await writeJws(header, payload, (data) => signer.sign(data))
  return [jwt, ...concealedClaims.disclosures, ''].join('~')
}

/**
 * Returns a test for the claims that become selectively disclosable: all that can be ("all"), none ("none"), or those
 * at the configured paths.
 */
function concealmentTest(
  { selectiveDisclosure }: Configuration,
  isConcealable: SdJwtContent['isConcealable'],
): (position: ClaimPosition) => boolean {
  if (selectiveDisclosure === 'none') return () => false
  if (selectiveDisclosure === 'all') return isConcealable
  return (position) =>
    selectiveDisclosure.some(
      (path) => path.length === position.length && path.every((step, at) => stepMatches(step, position[at])),
    )
}

/** The entries of SD-JWT formats in `vp_formats_supported`. OpenID4VP 1.0, IETF SD-JWT VC, Verifier Metadata. */
export const sdJwtAlgorithms = { 'sd-jwt_alg_values': [...joseAlgorithms], 'kb-jwt_alg_values': [...joseAlgorithms] }

/**
 * Parses an issued SD-JWT with `takeApart`. Throws a MalformedError if a disclosure is invalid, or with `otherwise` if
 * the format is another one.
 */
export function readHeldSdJwt(
  credential: string,
  takeApart: (sdJwt: SdJwt) => SdJwtParts,
  otherwise: string,
): HeldCredential {
  const { evidence, disclosable } = takeApart(readSdJwt(completeSdJwt(credential)))
  if (evidence.disclosuresProblem !== undefined) malformed(evidence.disclosuresProblem)
  if (evidence.formatProblem !== undefined) malformed(`${otherwise}: ${evidence.formatProblem}`)
  return { ...evidence, disclosable, expiresAt: earliestEnd(evidence.validity) }
}

/**
 * Makes a presentation that discloses the claims at `positions`, with their parents and children, and a key binding.
 */
export async function presentSdJwt(
  credential: string,
  positions: readonly ClaimPosition[],
  binding: Binding & { readonly at: Date },
  holder: Signer,
): Promise<string> {
  const { jws, disclosures } = readSdJwt(completeSdJwt(credential))
  const { appliedDisclosures } = revealClaims(jws.payload, disclosures)
  const [jwt = ''] = credential.split('~', 1)
  const shownClaims = appliedDisclosures.filter(({ position }) =>
    positions.some((choice) => isWithin(position, choice) || isWithin(choice, position)),
  )
  return bindSdJwt([jwt, ...shownClaims.map(({ text }) => text), ''].join('~'), binding, holder)
}

/** Appends the key binding JWT to an SD-JWT, which ends with a tilde. RFC 9901, Key Binding JWT. */
export async function bindSdJwt(
  sdJwt: string,
  binding: Binding & { readonly at: Date },
  holder: Signer,
): Promise<string> {
  const keyBinding = await writeJws(
    { typ: 'kb+jwt', alg: holder.alg },
    {
      iat: epochSeconds(binding.at),
      aud: binding.audience,
      nonce: binding.nonce,
      sd_hash: computeSdHash(readSdJwt(sdJwt)),
      ...makeApproval(binding.transactionData),
    },
    (data) => holder.sign(data),
  )
  return sdJwt + keyBinding
}

/** A parsed SD-JWT. */
export interface SdJwtParts {
  readonly evidence: Evidence
  /** The positions of the claims with a disclosure, which the holder can withhold. */
  readonly disclosable: readonly ClaimPosition[]
}

interface RevealedSdJwt extends Pick<SdJwtParts, 'disclosable'> {
  readonly payload: JsonObject
  /** Makes the payload with holes in the places of hidden elements of arrays. */
  readonly readPayloadInPlace: () => JsonObject
  readonly problem: string | undefined
}

/**
 * Returns the payload with the disclosed claims. If a disclosure is invalid, returns the signed payload and the
 * problem. `mustBeShown` tests whether a position must not be selectively disclosable.
 */
export function revealSdJwt(
  { jws, disclosures }: SdJwt,
  mustBeShown: (position: ClaimPosition) => boolean,
): RevealedSdJwt {
  const revealedPayload = readOrProblem(() => {
    const { claims, appliedDisclosures } = revealClaims(jws.payload, disclosures)
    const concealedClaim = appliedDisclosures.find(({ position }) => mustBeShown(position))
    if (concealedClaim) malformed(`${concealedClaim.position.join('.')} must not be selectively disclosable`)
    const readPayloadInPlace = () => revealClaims(jws.payload, disclosures, 'holes').claims
    return { payload: claims, readPayloadInPlace, disclosable: appliedDisclosures.map(({ position }) => position) }
  })
  return 'problem' in revealedPayload
    ? { payload: jws.payload, readPayloadInPlace: () => jws.payload, disclosable: [], problem: revealedPayload.problem }
    : { ...revealedPayload, problem: undefined }
}

/**
 * Reads a time of the key binding JWT; empty if it is absent or null. The Rust library ssi writes null for a time that
 * its wallet has not set.
 */
function readLimit(payload: JsonObject, member: 'exp' | 'nbf'): Instant[] {
  return memberOf(payload, member) === null ? [] : readNumericDate(payload, member)
}

/** Returns the holder's proof in the key binding JWT; undefined if there is none. */
export function keyBindingOf(sdJwt: SdJwt): HolderEvidence | undefined {
  const { keyBinding } = sdJwt
  if (keyBinding === undefined) return undefined
  const { header, payload } = keyBinding
  return {
    problem: stringMemberOf(header, 'typ') === 'kb+jwt' ? undefined : 'the type of the key binding is not kb+jwt',
    signatureProblem: (key) => jwsSignatureProblem(keyBinding, importPublicKey(key)),
    nonce: stringMemberOf(payload, 'nonce'),
    audience: stringMemberOf(payload, 'aud'),
    // `iat` is required. RFC 9901, Key Binding JWT.
    presentedAt: readPresentationTime(payload) ?? new Date(Number.NaN),
    validity: { notBefore: readLimit(payload, 'nbf'), notAfter: readLimit(payload, 'exp') },
    coversPresentation: memberOf(payload, 'sd_hash') === computeSdHash(sdJwt),
    approvalProblem: (transactionData, requestTransactionData) =>
      approvalProblem(payload, transactionData, requestTransactionData),
  }
}
