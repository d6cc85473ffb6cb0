/**
 * Compares what type metadata says of claims with the credentials: whether a claim is always there, and whether the
 * holder can hide it. SD-JWT VC, Claim Metadata.
 */
import { isObject, type Json, type JsonObject, memberOf } from '../../codec/json.ts'
import { isClaimPath, isIndex } from '../../protocol/claim-path.ts'
import { type ClaimPath, type ClaimStep, MAX_CLAIMS, MAX_STEPS, pathText } from '../../protocol/claim-path-text.ts'
import type { CredentialConfiguration } from '../../protocol/credential-configuration.ts'
import { refuse } from '../../protocol/error.ts'
import { refuseMissingClaim } from '../../protocol/mandatory-claim.ts'
import type { Configuration } from '../format.ts'
import { SECURING_MEMBERS } from './validation.ts'

const SD_VALUES: readonly Json[] = ['always', 'allowed', 'never']

/**
 * Refuses with `invalid_request` type metadata with too many claims, and type metadata that describes a claim in a
 * wrong form, twice, or not as it is in credentials of this configuration.
 */
export function refuseContraryTypeClaims(configuration: Configuration): void {
  const claims = describedClaims(configuration.posted)
  if (claims === undefined) return
  if (!Array.isArray(claims) || claims.length > MAX_CLAIMS)
    refuse('invalid_request', `type_metadata.claims: it must be an array of at most ${MAX_CLAIMS} claims`)
  const paths = new Set<string>()
  for (const [index, claim] of claims.entries()) {
    const path = pathOf(claim)
    const problem =
      path === undefined
        ? `.path: it must be an array of 1 to ${MAX_STEPS} names, indices and null, which begins with a name`
        : (formProblem(claim) ?? repetitionProblem(path, paths) ?? contraryProblem(claim, path, configuration))
    if (problem !== undefined) refuse('invalid_request', `type_metadata.claims[${index}]${problem}`)
  }
}

/** Refuses with `invalid_request` a dataset without a claim that the type metadata calls mandatory. */
export function refuseMissingTypeClaims(claims: JsonObject, posted: CredentialConfiguration): void {
  const described = describedClaims(posted)
  for (const claim of Array.isArray(described) ? described : []) {
    const path = pathOf(claim)
    if (path === undefined || memberOf(claim, 'mandatory') !== true || isSecuring(path)) continue
    refuseMissingClaim(claims, path, 'the type metadata')
  }
}

function describedClaims({ type_metadata: typeMetadata }: CredentialConfiguration): Json | undefined {
  return memberOf(typeMetadata as Json | undefined, 'claims')
}

function formProblem(claim: Json): string | undefined {
  const [mandatory, sd] = [memberOf(claim, 'mandatory'), memberOf(claim, 'sd')]
  if (mandatory !== undefined && typeof mandatory !== 'boolean') return '.mandatory: it must be true or false'
  if (sd !== undefined && !SD_VALUES.includes(sd)) return '.sd: it must be always, allowed or never'
  return undefined
}

/** Returns why the path may not be there again, and adds it to `paths`; undefined if it is new. */
function repetitionProblem(path: ClaimPath, paths: Set<string>): string | undefined {
  const text = JSON.stringify(path)
  if (paths.has(text)) return '.path: this claim is described already'
  paths.add(text)
  return undefined
}

function contraryProblem(claim: Json, path: ClaimPath, configuration: Configuration): string | undefined {
  const [text, sd] = [pathText(path), memberOf(claim, 'sd')]
  if (memberOf(claim, 'mandatory') === true && configuration.format.sourceOf(path, configuration) === undefined) {
    return `: neither a dataset nor the issuer gives these credentials ${text}; leave mandatory out`
  }
  if (sd === 'always' && !isHidden(path, configuration, covers)) {
    return `.sd: holders cannot hide ${text}; name it in selective_disclosure, or say allowed`
  }
  if (sd === 'never' && isHidden(path, configuration, meets)) {
    return `.sd: selective_disclosure lets holders hide ${text}; leave it out there, or say allowed`
  }
  return undefined
}

function isHidden(
  path: ClaimPath,
  { selectiveDisclosure }: Configuration,
  matches: (listed: ClaimStep, step: ClaimStep | undefined) => boolean,
): boolean {
  if (isSecuring(path) || selectiveDisclosure === 'none') return false
  if (selectiveDisclosure === 'all') return true
  return selectiveDisclosure.some(
    (listed) => listed.length === path.length && listed.every((step, at) => matches(step, path[at])),
  )
}

/** Tests whether the listed step selects all that the other step selects. */
function covers(listed: ClaimStep, step: ClaimStep | undefined): boolean {
  return listed === step || (listed === null && isIndex(step))
}

/** Tests whether there is something that both steps select. */
function meets(listed: ClaimStep, step: ClaimStep | undefined): boolean {
  return covers(listed, step) || (step === null && isIndex(listed))
}

function isSecuring([first]: ClaimPath): boolean {
  return SECURING_MEMBERS.includes(String(first))
}

function pathOf(claim: Json): ClaimPath | undefined {
  const path = isObject(claim) ? memberOf(claim, 'path') : undefined
  return isClaimPath(path) && typeof path[0] === 'string' && path.length <= MAX_STEPS ? path : undefined
}
