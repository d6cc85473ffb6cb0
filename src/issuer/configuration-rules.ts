/**
 * The rules for a configuration that is posted, beyond those of its format. A stored configuration of an earlier
 * release need not keep them.
 */
import { isObject } from '../codec/json.ts'
import type { Configuration } from '../credential/format.ts'
import { typeMembers } from '../credential/formats.ts'
import { pathText } from '../protocol/claim-path-text.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { refuse } from '../protocol/error.ts'
import type { IssuerConfig } from './config.ts'
import type { IssuerContext } from './context.ts'
import { refuseInvalidCredentialMetadata } from './credential-metadata-rules.ts'
import { profileProblem } from './haip.ts'
import { refuseUnfitType } from './type-metadata.ts'

/** Refuses with `invalid_request` and the path a posted configuration that breaks one of the rules. */
export async function refuseUnfitConfiguration(context: IssuerContext, configuration: Configuration): Promise<void> {
  const { posted, isRevocable, hasBitstringStatus } = configuration
  if (!isRevocable && hasBitstringStatus) {
    refuse('invalid_request', 'status: goes with revocable credentials; leave status out, or revocable: false')
  }
  refuseBlankEnds(posted)
  refuseInvalidCredentialMetadata(posted)
  refuseUnissuedClaims(configuration)
  refuseUnattestable(posted, context.config)
  refuseOutsideProfile(posted, context.config)
  await refuseUnfitType(context, configuration)
}

/**
 * Refuses with `invalid_request` and the path a type that is blank or has blanks at its ends, where nobody would see
 * them.
 */
function refuseBlankEnds(posted: CredentialConfiguration): void {
  for (const member of [...typeMembers, 'aka_vcts'] as const) {
    const value = posted[member]
    // The types of W3C formats are members of `credential_definition`.
    const typesByPath = isObject(value)
      ? Object.entries(value).map(([name, types]) => [`${member}.${name}`, types] as const)
      : [[member, value] as const]
    for (const [path, types] of typesByPath) {
      const hasBlankEnds = [types].flat().some((type) => typeof type === 'string' && type.trim() !== type)
      if (hasBlankEnds) refuse('invalid_request', `${path}: it must have blanks at neither end`)
    }
  }
}

/** Refuses with `invalid_request` a mandatory claim that credentials of the configuration never have. */
export function refuseUnissuedClaims(configuration: Configuration): void {
  const { claims, format } = configuration
  const at = claims.findIndex(
    ({ path, mandatory }) => mandatory === true && format.sourceOf(path, configuration) === undefined,
  )
  if (at < 0) return
  const text = pathText(claims[at]?.path ?? [])
  const reason = `neither a dataset nor the issuer gives these credentials ${text}`
  refuse('invalid_request', `credential_metadata.claims[${at}]: ${reason}; leave mandatory out, or name another claim`)
}

/** Refuses with `invalid_request` and the path a configuration that the profile excludes. */
function refuseOutsideProfile(posted: CredentialConfiguration, { profile }: IssuerConfig): void {
  const problem = profile && profileProblem(posted)
  if (problem !== undefined) refuse('invalid_request', problem)
}

/** Refuses with `invalid_request` a configuration that requires key attestations if no trust anchors are configured. */
export function refuseUnattestable(posted: CredentialConfiguration, config: IssuerConfig): void {
  if (posted.key_attestations_required === undefined || config.keyAttestationTrustAnchors.length > 0) return
  refuse(
    'invalid_request',
    'key_attestations_required: no attester is trusted; name a directory with their certificates in the setting keyAttestationTrustAnchors',
  )
}
