/** Checks the credential configurations in an issuer's database against its settings. */
import type { DatabaseConfig } from '../../config/database.ts'
import { parseConfiguration } from '../../credential/configuration.ts'
import { mappingsOf } from '../../issuer/claims-dataset.ts'
import type { StoredConfiguration } from '../../issuer/collections.ts'
import type { IssuerConfig } from '../../issuer/config.ts'
import { refuseUnattestable } from '../../issuer/configuration-rules.ts'
import { profileProblem } from '../../issuer/haip.ts'
import type { CredentialConfiguration } from '../../protocol/credential-configuration.ts'
import { ProtocolError } from '../../protocol/error.ts'
import { readRows } from './database.ts'
import type { Finding } from './finding.ts'

const SUBJECT = 'credential configurations'
const DAY_MS = 86_400_000
const QUERY = 'select id, value from credential_configuration order by id'

/**
 * Returns the findings; none if the database cannot be read, which another finding reports, or has no configurations.
 */
export async function findConfigurationFindings(
  database: DatabaseConfig,
  config: IssuerConfig,
  at: Date,
): Promise<Finding[]> {
  const rows = await readStored(database).catch(() => [])
  const offeredRows = rows.filter(({ stored }) => !stored.removed)
  if (offeredRows.length === 0) return []
  const findings = offeredRows.flatMap(({ id, stored }) =>
    problemsOf(id, stored.configuration, config).map(
      (problem): Finding => ({ subject: `${SUBJECT} ${id}`, outcome: 'warning', text: problem }),
    ),
  )
  const those = offeredRows.length === 1 ? 'the one that is declared' : `all ${offeredRows.length}`
  const summary: Finding = { subject: SUBJECT, outcome: 'ok', text: `${those} can be issued` }
  const configurations = offeredRows.map(({ stored }) => stored.configuration)
  return [...(findings.length === 0 ? [summary] : findings), ...findCutShort(configurations, config, at)]
}

/** Returns a note if new credentials end with the certificate that signs them, before their own time is over. */
function findCutShort(configurations: readonly CredentialConfiguration[], { keys }: IssuerConfig, at: Date): Finding[] {
  const leftDays = Math.floor((keys.signing.chain[0].notAfter.getTime() - at.getTime()) / DAY_MS)
  let longest = 0
  for (const each of configurations) {
    // A configuration that cannot be read has a finding of its own.
    problemIn(() => {
      longest = Math.max(longest, parseConfiguration(each).validitySeconds)
    })
  }
  const longestDays = Math.floor((longest * 1000) / DAY_MS)
  if (leftDays < 0 || longestDays <= leftDays) return []
  const text = `new credentials are valid for ${leftDays} days, until the certificate of signing ends, and not for ${longestDays}; renew it earlier for longer ones`
  return [{ subject: SUBJECT, outcome: 'note', text }]
}

function problemsOf(id: string, configuration: CredentialConfiguration, config: IssuerConfig): string[] {
  const unreadable = problemIn(() => parseConfiguration(configuration))
  if (unreadable !== undefined) return [`it cannot be issued any more (${unreadable}); declare it anew`]
  const profileText = config.profile && profileProblem(configuration)
  const unattestable = problemIn(() => refuseUnattestable(configuration, config))
  const unnamed = unnamedProblem(id, configuration, config)
  return [
    ...(profileText === undefined ? [] : [`it is not offered: ${profileText}`]),
    ...(unattestable === undefined ? [] : [`wallets cannot get it: ${unattestable}`]),
    ...(unnamed === undefined ? [] : [unnamed]),
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

function problemIn(check: () => unknown): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    return error.message
  }
}

async function readStored(database: DatabaseConfig) {
  const rows = await readRows(database, QUERY)
  return rows.map(({ id, value }) => ({ id: String(id), stored: JSON.parse(String(value)) as StoredConfiguration }))
}
