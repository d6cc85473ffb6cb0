/** Checks whether the verifier would take each of its trust lists as it is published now. */
import { readOrProblem } from '../../codec/malformed.ts'
import type { DatabaseConfig } from '../../config/database.ts'
import type { TrustListConfig } from '../../config/trust-lists.ts'
import type { VerifierConfig } from '../../verifier/config.ts'
import { readTrustList } from '../../verifier/trust-list/read.ts'
import { ageProblem, fetchTrustList, readKeptList } from '../../verifier/trust-list/refresh.ts'
import { isListOver, type StoredListText, type TrustListCollections } from '../../verifier/trust-list/stored.ts'
import { now, outbound } from '../effects.ts'
import { ANSWER_MS } from '../network/who-listens.ts'
import { readRows } from './database.ts'
import { type Finding, makeFinding } from './finding.ts'

/**
 * Fetches the lists at the same time, and compares each with the one that the verifier has. The findings about the
 * database must have been made before, since this opens its file.
 */
export async function findTrustListFindings(config: VerifierConfig): Promise<Finding[]> {
  const { trustLists, database } = config
  if (trustLists.length === 0) return []
  const keptLists = await readKeptTexts(database)
  return Promise.all(
    trustLists.map(async (setting, index) => {
      const { outcome, text } = await judgeList(setting, keptLists.get(setting.url), config)
      return makeFinding(`trustLists[${index}].url`, outcome, text)
    }),
  )
}

/** Fetches a list as the verifier does, and reads it. */
async function judgeList(
  setting: TrustListConfig,
  kept: StoredListText | undefined,
  { status, clockSkewSeconds }: VerifierConfig,
): Promise<Pick<Finding, 'outcome' | 'text'>> {
  const { url } = setting
  const { allowPrivateAddresses } = status
  const answer = await fetchTrustList(outbound, { url, allowPrivateAddresses, timeoutMs: ANSWER_MS })
  const list =
    'problem' in answer
      ? answer
      : readOrProblem(() => readTrustList(answer.text, setting, { at: now(), clockSkewSeconds }))
  const problem = 'problem' in list ? list.problem : ageProblem(list, readKeptList(kept, setting, clockSkewSeconds))
  if ('problem' in list || problem !== undefined)
    return { outcome: 'warning', text: `${url} gives no list: ${problem}` }
  const { sequenceNumber, certificates, nextUpdate } = list
  const issuers = `${certificates.length} certificate${certificates.length === 1 ? '' : 's'}`
  const text = `${url} has list ${sequenceNumber} with ${issuers}, which ends on ${nextUpdate.toISOString()}`
  return { outcome: isListOver(nextUpdate, now(), clockSkewSeconds) ? 'warning' : 'ok', text }
}

/** Returns the newest list of each URL; none if the database does not exist or is of an earlier release. */
async function readKeptTexts(database: DatabaseConfig): Promise<ReadonlyMap<string, StoredListText | undefined>> {
  try {
    const rows = await readRows(database, 'select id, value from trust_list')
    return new Map(
      rows.map(({ id, value }) => [String(id), (JSON.parse(String(value)) as TrustListCollections['trust_list']).list]),
    )
  } catch {
    // The database findings report this problem.
    return new Map()
  }
}
