/**
 * Decides on the status of a credential by its status lists. Token Status List, Status Types; Bitstring Status List
 * 1.0.
 */
import { orProblem } from '../../codec/malformed.ts'
import { capacityOf, statusAt } from '../../codec/status-list.ts'
import type { Instant } from '../../credential/format.ts'
import { formatOf } from '../../credential/formats.ts'
import { strangerText } from '../../keys/certificate-name.ts'
import { fail, pass, tolerate, type Verdict } from '../check.ts'
import { readStatusReferences, type StatusEvidence, type StatusReference } from './reference.ts'
import { readSignerChain, type StatusCheckContext, signerProblem } from './signer.ts'
import type { FetchedStatusList } from './status-list.ts'

/**
 * The names of the defined status values; all others are application-specific. Token Status List, Status Types Values.
 */
const VALUES: readonly string[] = ['valid', 'revoked', 'suspended']

/** Checks all lists that the credential refers to, and returns the verdict of the first that fails. */
export async function fetchStatusVerdict(evidence: StatusEvidence, context: StatusCheckContext): Promise<Verdict> {
  const statusReferences = orProblem(() => readStatusReferences(evidence))
  if ('problem' in statusReferences) return fail(statusReferences.problem, statusReferences.cause)
  const ignoredNotes = statusReferences.ignored.map((each) => `not looked at: ${each}`)
  if (statusReferences.references.length === 0)
    return pass(['the credential carries no status', ...ignoredNotes].join('; '))
  const verdicts: Verdict[] = []
  for (const reference of statusReferences.references) {
    const verdict = await judgeReference(reference, evidence, context)
    if (verdict.answer === 'no') return verdict
    verdicts.push(verdict)
  }
  const detail = [...verdicts.flatMap((verdict) => verdict.detail ?? []), ...ignoredNotes].join('; ')
  return verdicts.some(({ answer }) => answer === 'tolerated') ? tolerate(detail) : pass(detail)
}

/** Tests whether the format of the credential uses CBOR, so that a CWT is preferred. */
function prefersCwt({ formats }: StatusEvidence): boolean {
  return formats.some((id) => formatOf(id)?.statusListType === 'cwt')
}

async function judgeReference(
  reference: StatusReference,
  evidence: StatusEvidence,
  context: StatusCheckContext,
): Promise<Verdict> {
  const { loadList, onUnreachable } = context.status
  const at = `status list ${strangerText(reference.uri)}`
  const result = await loadList(reference, prefersCwt(evidence))
  if ('unreachable' in result) {
    const why = `the ${at} could not be looked at: ${result.unreachable}`
    return onUnreachable === 'accept' ? tolerate(why) : fail(why)
  }
  if ('problem' in result) return fail(`the ${at} cannot be used: ${result.problem}`, result.cause)
  const { list, fetchedAt, isCached } = result
  const signerChain = readSignerChain(list, evidence.issuer, context)
  if ('problem' in signerChain) return fail(`the ${at} cannot be used: ${signerChain.problem}`, signerChain.cause)
  const problem =
    signerProblem(list, signerChain, evidence.issuer, context) ??
    timeProblem(list, context) ??
    contentProblem(list, reference, evidence)
  if (problem !== undefined) return fail(`the ${at} cannot be used: ${problem}`)
  result.keep()
  const value = statusValueOf(list, reference.index)
  const when = `by the ${at}, fetched at ${fetchedAt.toISOString()}${isCached ? ' and kept since' : ''}`
  return value === 0
    ? pass(`not ${stateText(reference, undefined)} ${when}`)
    : fail(`${stateText(reference, value)} ${when}`)
}

function timeProblem(
  { issuedAt, validity: { notBefore, notAfter } }: FetchedStatusList,
  { now, clockSkewSeconds }: StatusCheckContext,
): string | undefined {
  const skew = clockSkewSeconds * 1000
  const findInstant = (instants: readonly Instant[], is: (at: number) => boolean): Instant | undefined =>
    instants.find(({ at }) => at === undefined || is(at.getTime()))
  const early = findInstant([...issuedAt, ...notBefore], (at) => at > now.getTime() + skew)
  if (early !== undefined) return early.at ? `it is from the future (${early.member})` : `${early.member} is not a time`
  const late = findInstant(notAfter, (at) => at + skew <= now.getTime())
  if (late === undefined) return undefined
  return late.at ? `it expired on ${late.at.toISOString()}` : `${late.member} is not a time`
}

function contentProblem(
  list: FetchedStatusList,
  { index, purpose }: StatusReference,
  { issuer: { identifiers } }: StatusEvidence,
): string | undefined {
  if (list.identifiers.some((name) => name !== identifiers[0])) return 'it names another issuer than the credential'
  if (purpose !== undefined && !list.purposes.includes(purpose)) return `its statusPurpose is not ${purpose}`
  return index < capacityOf(list.bytes, list.width) ? undefined : 'it has no entry of that index'
}

function statusValueOf({ bytes, width, first }: FetchedStatusList, index: number): number {
  // In a bitstring status list, index 0 is the most significant bit.
  return statusAt(bytes, width, first === 'lowest' ? index : index ^ 7)
}

/** Returns the state of the credential by this list, in words. */
function stateText({ purpose }: StatusReference, value: number | undefined): string {
  if (purpose !== undefined) return purpose === 'revocation' ? 'revoked' : 'suspended'
  if (value === undefined) return 'revoked or suspended'
  return VALUES[value] ?? `neither valid nor revoked nor suspended (status value ${value})`
}
