/** A credential configuration as the issuer parses it, of whatever a test has. */
import { parseConfiguration } from '../../src/credential/configuration.ts'
import type { Configuration } from '../../src/credential/format.ts'
import type { CredentialConfiguration } from '../../src/protocol/credential-configuration.ts'

/** Parses a configuration, and refuses as `parseConfiguration` does. */
export function configurationOf(posted: object): Configuration {
  return parseConfiguration(posted as CredentialConfiguration)
}
