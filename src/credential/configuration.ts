/** Parsing a credential configuration, once: the members that every format has, and by its format the others. */

import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { refuse } from '../protocol/error.ts'
import type { Configuration, CredentialFormat } from './format.ts'
import { formatOf, ownConfigurationMembers, supportedFormats, typeMembers } from './formats.ts'

/** The validity of credentials whose configuration names none. */
export const YEAR_SECONDS = 365 * 24 * 60 * 60

/**
 * Returns the configuration, parsed. Refuses with `invalid_request`, naming the path, an unknown format, the type of
 * another format, which wallets would believe and nobody would issue, and a configuration that its format could not
 * issue.
 */
export function parseConfiguration(posted: CredentialConfiguration): Configuration {
  const { format: formatId } = posted
  const format = formatOf(formatId)
  if (format === undefined) {
    return refuse('invalid_request', `format: ${formatId} is unknown; use ${supportedFormats.join(' or ')}`)
  }
  for (const foreign of typeMembers) {
    if (foreign !== format.typeMember && posted[foreign] !== undefined) {
      refuse('invalid_request', `${foreign}: does not go with this format; use ${format.typeMember}`)
    }
  }
  for (const { member, format: owner } of ownConfigurationMembers) {
    if (owner !== format && posted[member] !== undefined) {
      refuse('invalid_request', `${member}: goes with a ${owner.typeMember} only, that of ${owner.ids.join(' or ')}`)
    }
  }
  return { ...commonMembers(format, posted), ...format.parseMembers(posted) }
}

function commonMembers(format: CredentialFormat, posted: CredentialConfiguration): Configuration {
  return {
    format,
    formatId: posted.format,
    selectiveDisclosure: posted.selective_disclosure ?? 'all',
    validitySeconds: posted.validity_seconds ?? YEAR_SECONDS,
    batchSize: posted.batch_size ?? 1,
    isRevocable: posted.revocable ?? true,
    hasBitstringStatus: posted.status === 'bitstring',
    claims: posted.credential_metadata?.claims ?? [],
    keyAttestation: posted.key_attestations_required,
    posted,
  }
}
