/** Parses a credential configuration: the members of all formats, and those of its own format. */

import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { refuse } from '../protocol/error.ts'
import type { Configuration, CredentialFormat } from './format.ts'
import { formatOf, ownConfigurationMembers, supportedFormats, typeMembers } from './formats.ts'

/** The default validity of credentials. */
export const YEAR_SECONDS = 365 * 24 * 60 * 60

/**
 * Parses and validates a posted configuration. Refuses with `invalid_request` and the path an unknown format, a member
 * that belongs to another format, and a configuration that its format cannot issue.
 */
export function parseConfiguration(postedConfiguration: CredentialConfiguration): Configuration {
  const { format: formatId } = postedConfiguration
  const format = formatOf(formatId)
  if (format === undefined) {
    return refuse('invalid_request', `format: ${formatId} is unknown; use ${supportedFormats.join(' or ')}`)
  }
  for (const foreign of typeMembers) {
    if (foreign !== format.typeMember && postedConfiguration[foreign] !== undefined) {
      refuse('invalid_request', `${foreign}: does not go with this format; use ${format.typeMember}`)
    }
  }
  for (const { member, format: owner } of ownConfigurationMembers) {
    if (owner !== format && postedConfiguration[member] !== undefined) {
      refuse('invalid_request', `${member}: goes with a ${owner.typeMember} only, that of ${owner.ids.join(' or ')}`)
    }
  }
  return { ...commonMembers(format, postedConfiguration), ...format.parseMembers(postedConfiguration) }
}

function commonMembers(format: CredentialFormat, postedConfiguration: CredentialConfiguration): Configuration {
  return {
    format,
    formatId: postedConfiguration.format,
    selectiveDisclosure: postedConfiguration.selective_disclosure ?? 'all',
    validitySeconds: postedConfiguration.validity_seconds ?? YEAR_SECONDS,
    batchSize: postedConfiguration.batch_size ?? 1,
    isRevocable: postedConfiguration.revocable ?? true,
    hasBitstringStatus: postedConfiguration.status === 'bitstring',
    claims: postedConfiguration.credential_metadata?.claims ?? [],
    keyAttestation: postedConfiguration.key_attestations_required,
    posted: postedConfiguration,
  }
}
