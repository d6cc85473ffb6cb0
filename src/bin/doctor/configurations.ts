/** Checks the credential configurations in an issuer's database against its settings. */
import type { Problem } from '../../codec/malformed.ts'
import type { DatabaseConfig } from '../../config/database.ts'
import { parseConfiguration } from '../../credential/configuration.ts'
import type { Configuration } from '../../credential/format.ts'
import { mappingsOf } from '../../issuer/claims-dataset.ts'
import type { StoredConfiguration } from '../../issuer/collections.ts'
import type { IssuerConfig } from '../../issuer/config.ts'
import { refuseUnattestable } from '../../issuer/configuration-rules.ts'
import { findImageWarnings } from '../../issuer/credential-metadata-rules.ts'
import { profileProblem } from '../../issuer/haip.ts'
import type { CredentialConfiguration } from '../../protocol/credential-configuration.ts'
import { ProtocolError } from '../../protocol/error.ts'
import { readRows } from './database.ts'
import { type Finding, makeFinding } from './finding.ts'

const SUBJECT = 'credential configurations'
const DAY_MS = 86_400_000
const QUERY = 'select id, value from credential_configuration order by id'

/** A configuration that the issuer offers: as it was posted, and parsed once for all findings. */
interface OfferedConfiguration {
  readonly id: string
  readonly posted: CredentialConfiguration
  readonly parsed: Configuration | Problem
}

/**
 * Returns the findings; none if the database cannot be read, which another finding reports, or has no configurations.
 */
export async function findConfigurationFindings(
  database: DatabaseConfig,
  config: IssuerConfig,
  at: Date,
): Promise<Finding[]> {
  const configurations = await readOffered(database).catch(() => [])
  if (configurations.length === 0) return []
  const findings = configurations.flatMap((each) =>
    problemsOf(each, config).map((problem) => makeFinding(`${SUBJECT} ${each.id}`, 'warning', problem)),
  )
  const those = configurations.length === 1 ? 'the one that is declared' : `all ${configurations.length}`
  const summary = makeFinding(SUBJECT, 'ok', `${those} can be issued`)
  return [...(findings.length === 0 ? [summary] : findings), ...findCutShort(configurations, config, at)]
}

/** Returns a note if new credentials end with the certificate that signs them, before their own time is over. */
function findCutShort(configurations: readonly OfferedConfiguration[], { keys }: IssuerConfig, at: Date): Finding[] {
  const leftDays = Math.floor((keys.signing.chain[0].notAfter.getTime() - at.getTime()) / DAY_MS)
  // A configuration that cannot be read has a finding of its own.
  const seconds = configurations.map(({ parsed }) => ('problem' in parsed ? 0 : parsed.validitySeconds))
  const longestDays = Math.floor((Math.max(...seconds) * 1000) / DAY_MS)
  if (leftDays < 0 || longestDays <= leftDays) return []
  const text = `new credentials are valid for ${leftDays} days, until the certificate of signing ends, and not for ${longestDays}; renew it earlier for longer ones`
  return [makeFinding(SUBJECT, 'note', text)]
}

function problemsOf({ id, posted, parsed }: OfferedConfiguration, config: IssuerConfig): string[] {
  if ('problem' in parsed) return [`it cannot be issued any more (${parsed.problem}); declare it anew`]
  const profileText = config.profile && profileProblem(posted)
  const attestation = resultOrProblem(() => refuseUnattestable(posted, config))
  const unnamed = unnamedProblem(id, posted, config)
  return [
    ...(profileText === undefined ? [] : [`it is not offered: ${profileText}`]),
    ...(attestation === undefined ? [] : [`wallets cannot get it: ${attestation.problem}`]),
    ...(unnamed === undefined ? [] : [unnamed]),
    ...findImageWarnings(posted),
  ]
}

/** Returns the problem of a configuration with a scope for which no dataset mapping is configured. */
function unnamedProblem(
  id: string,
  configuration: CredentialConfiguration,
  { codeFlow }: IssuerConfig,
): string | undefined {
  const { openidConnect, presentation } = codeFlow ?? {}
  const { scope } = configuration
  const [way, datasets] = openidConnect
    ? ['openidConnect', openidConnect.datasets]
    : ['presentation', presentation?.datasets]
  if (datasets === undefined || scope === undefined) return undefined
  if (!('unmappedName' in mappingsOf(datasets, [{ id, posted: configuration }]))) return undefined
  return `people who sign in without an offer cannot get it; add ${scope} to authentication.${way}.datasets`
}

/** Returns the result of `run`, or why it refuses. */
function resultOrProblem<T>(run: () => T): T | Problem {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    return { problem: error.message }
  }
}

async function readOffered(database: DatabaseConfig): Promise<readonly OfferedConfiguration[]> {
  const rows = await readRows(database, QUERY)
  return rows.flatMap(({ id, value }) => {
    const { removed, configuration: posted } = JSON.parse(String(value)) as StoredConfiguration
    return removed ? [] : [{ id: String(id), posted, parsed: resultOrProblem(() => parseConfiguration(posted)) }]
  })
}
