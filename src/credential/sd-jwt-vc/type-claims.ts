/**
 * Compares what type metadata says of claims with the credentials: whether a claim is always there, and whether the
 * holder can hide it. SD-JWT VC, Claim Metadata.
 */
import { isObject, type Json, type JsonObject, memberOf } from '../../codec/json.ts'
import { isIndex, selectClaims } from '../../protocol/claim-path.ts'
import { type ClaimPath, MAX_STEPS, pathText } from '../../protocol/claim-path-text.ts'
import type { CredentialConfiguration } from '../../protocol/credential-configuration.ts'
import { refuse } from '../../protocol/error.ts'
import type { Configuration } from '../format.ts'
import { SECURING_MEMBERS } from './schema.ts'

const SD_VALUES: readonly Json[] = ['always', 'allowed', 'never']

/**
 * Refuses with `invalid_request` and the path type metadata with a claim of a wrong form, and one that says of a claim
 * what credentials of this configuration are not.
 */
export function refuseContraryTypeClaims(configuration: Configuration): void {
  const claims = memberOf(configuration.posted.type_metadata as Json | undefined, 'claims')
  if (claims === undefined) return
  if (!Array.isArray(claims)) refuse('invalid_request', 'type_metadata.claims: it must be an array')
  for (const [index, claim] of claims.entries()) {
    const problem = formProblem(claim) ?? contraryProblem(claim, configuration)
    if (problem !== undefined) refuse('invalid_request', `type_metadata.claims[${index}]${problem}`)
  }
}

/** Refuses with `invalid_request` a dataset that lacks a claim that the type metadata calls mandatory. */
export function refuseWithoutTypeClaims(claims: JsonObject, posted: CredentialConfiguration): void {
  const described = memberOf(posted.type_metadata as Json | undefined, 'claims')
  for (const claim of Array.isArray(described) ? described : []) {
    const path = pathOf(claim)
    if (path === undefined || memberOf(claim, 'mandatory') !== true || isSecuring(path)) continue
    const problem = `${pathText(['credential_dataset', ...path])}: this claim is mandatory in the type metadata`
    const selection = selectClaims(claims, path)
    if ('problem' in selection) refuse('invalid_request', problem)
    if (selection.claims.every(({ value }) => value === null))
      refuse('invalid_request', `${problem}, and null says nothing`)
  }
}

function formProblem(claim: Json): string | undefined {
  if (pathOf(claim) === undefined) return '.path: it must be an array of names, indices and null, which is not empty'
  const [mandatory, sd] = [memberOf(claim, 'mandatory'), memberOf(claim, 'sd')]
  if (mandatory !== undefined && typeof mandatory !== 'boolean') return '.mandatory: it must be true or false'
  if (sd !== undefined && !SD_VALUES.includes(sd)) return '.sd: it must be always, allowed or never'
  return undefined
}

function contraryProblem(claim: Json, configuration: Configuration): string | undefined {
  const path = pathOf(claim) ?? []
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
  isSame: (listed: ClaimPath[number], step: ClaimPath[number] | undefined) => boolean,
): boolean {
  if (isSecuring(path) || selectiveDisclosure === 'none') return false
  if (selectiveDisclosure === 'all') return true
  return selectiveDisclosure.some(
    (listed) => listed.length === path.length && listed.every((step, at) => isSame(step, path[at])),
  )
}

/** Tests whether a listed step stands for all that the other step stands for. */
function covers(listed: ClaimPath[number], step: ClaimPath[number] | undefined): boolean {
  return listed === step || (listed === null && isIndex(step))
}

/** Tests whether two steps have something in common. */
function meets(listed: ClaimPath[number], step: ClaimPath[number] | undefined): boolean {
  return covers(listed, step) || (step === null && isIndex(listed))
}

function isSecuring([first]: ClaimPath): boolean {
  return SECURING_MEMBERS.includes(String(first))
}

function pathOf(claim: Json): ClaimPath | undefined {
  const path = isObject(claim) ? memberOf(claim, 'path') : undefined
  const isPath =
    Array.isArray(path) &&
    path.length > 0 &&
    path.length <= MAX_STEPS &&
    path.every((step) => step === null || typeof step === 'string' || isIndex(step))
  return isPath ? path : undefined
}
