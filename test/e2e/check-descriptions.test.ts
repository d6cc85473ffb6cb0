/** The words of checks are stored once for a release, and a session has a report with the words of its release. */
import { afterEach, describe, expect, it } from 'vitest'
import type { CheckResult } from '../../src/check/check.ts'
import { allChecks } from '../../src/verifier/checks/index.ts'
import { type VerifierCollections, verifierMigrations } from '../../src/verifier/collections.ts'
import type { VerificationOutcome, VerificationSession } from '../../src/verifier/session.ts'
import { checksOf } from '../../src/verifier/verification.ts'
import { type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { testDatabase } from '../support/store.ts'
import {
  configuration,
  dcqlQuery,
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  startVerification,
  statusOf,
} from '../support/wire.ts'

const closing: Services[] = []
afterEach(() => Promise.all(closing.splice(0).map((each) => each.close())))

describe('the words of checks', () => {
  it('are stored once for many sessions, and each report has them', async () => {
    const services = await start()
    const sessionIds = [await present(services), await present(services), await present(services)]
    for (const sessionId of sessionIds) {
      const stored = await storedOf(services, sessionId)
      expect(checksOf(stored.report).length).toBeGreaterThan(20)
      for (const result of checksOf(stored.report)) expect(Object.keys(result)).not.toContain('asks')
      for (const result of await reportedResults(services, sessionId)) expect(result).toMatchObject(wordsOf(result.id))
    }
    expect(await services.verifierStore.list('check_descriptions')).toHaveLength(1)
  })

  it('are those of the release that verified, for other processes and later releases too', async () => {
    const open = testDatabase<VerifierCollections>(verifierMigrations)
    const services = await start(await open())
    const sessionId = await present(services)
    const later = await start(await open())
    expect(await reportedResults(later, sessionId)).toEqual(await reportedResults(services, sessionId))
    const { checkDescriptions = '' } = await storedOf(services, sessionId)
    const row = await services.verifierStore.get('check_descriptions', checkDescriptions)
    const older = Object.fromEntries(
      Object.entries(row?.value ?? {}).map(([id, words]) => [id, { ...words, asks: `Older: ${words.asks}` }]),
    )
    await services.verifierStore.commit([{ insert: 'check_descriptions', id: 'older', value: older }])
    await changeOutcome(services, sessionId, (outcome) => ({ ...outcome, checkDescriptions: 'older' }))
    for (const result of await reportedResults(later, sessionId)) {
      expect(result).toMatchObject({ asks: `Older: ${wordsOf(result.id).asks}` })
    }
  })

  it('are in reports also where the database lost them, as by a takeover, while the release is the same', async () => {
    const open = testDatabase<VerifierCollections>(verifierMigrations)
    const services = await start(await open())
    const sessionId = await present(services)
    const { checkDescriptions: id = '' } = await storedOf(services, sessionId)
    await services.verifierStore.commit([{ delete: 'check_descriptions', id, version: 0 }])
    const later = await start(await open())
    expect(await reportedResults(later, sessionId)).toEqual(await reportedResults(services, sessionId))
    services.clock.now = new Date(services.clock.now.getTime() + 61_000)
    await present(services)
    expect(await services.verifierStore.get('check_descriptions', id)).toBeDefined()
  })

  it('stay in sessions that have them still, also when personal data is erased', async () => {
    const services = await start()
    const sessionId = await present(services)
    const described = (result: CheckResult) => ({ ...result, ...wordsOf(result.id), asks: 'As it was?' })
    await changeOutcome(services, sessionId, ({ report }) => ({
      report: {
        ...report,
        checks: report.checks.map(described),
        credentials: Object.fromEntries(
          Object.entries(report.credentials).map(([id, reports]) => [
            id,
            reports.map((each) => ({ ...each, checks: each.checks.map(described) })),
          ]),
        ),
      },
    }))
    const before = await reportedResults(services, sessionId)
    expect(before).toContainEqual(expect.objectContaining({ detail: expect.any(String) as string }))
    services.clock.now = new Date(services.clock.now.getTime() + 86_400_000)
    await services.runTasks()
    const after = await reportedResults(services, sessionId)
    expect(after).toHaveLength(before.length)
    for (const result of after) {
      expect(result).toMatchObject({ asks: 'As it was?', spec: wordsOf(result.id).spec })
      expect(result).not.toHaveProperty('detail')
    }
  })

  it('that are missing are our mistake, and the report is not shown with others', async () => {
    const services = await start()
    const sessionId = await present(services)
    await changeOutcome(services, sessionId, (outcome) => ({ ...outcome, checkDescriptions: 'none' }))
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ error: 'server_error' })
  })
})

async function start(verifierStore?: Services['verifierStore']): Promise<Services> {
  const services = await startServices(verifierStore === undefined ? {} : { verifierStore })
  closing.push(services)
  return services
}

/** Presents a credential, and returns the id of the session. */
async function present(services: Services): Promise<string> {
  const holder = await holderSigner()
  const credential = await issueCredential(services, holder, { ...configuration, revocable: false })
  const { sessionId, request } = await startVerification(services, dcqlQuery)
  const presentation = await presentationOf(credential, holder, request, { now: services.clock.now })
  await postForm(services, request.response_uri, {
    vp_token: JSON.stringify({ card: [presentation] }),
    state: request.state,
  })
  return sessionId
}

type StoredReport = Extract<VerificationOutcome, { report: unknown }>

async function storedOf({ verifierStore }: Services, sessionId: string): Promise<StoredReport> {
  const { outcome } = (await verifierStore.get('verification_session', sessionId))?.value ?? {}
  if (outcome === undefined || !('report' in outcome)) throw new Error('the session has no report')
  return outcome
}

async function changeOutcome(
  services: Services,
  id: string,
  change: (outcome: StoredReport) => StoredReport,
): Promise<void> {
  const row = await services.verifierStore.get('verification_session', id)
  const outcome = change(await storedOf(services, id))
  const value = { ...(row?.value as VerificationSession), outcome }
  const dueAt = services.clock.now
  await services.verifierStore.commit([
    { update: 'verification_session', id, version: row?.version ?? 0, value, dueAt },
  ])
}

async function reportedResults(services: Services, sessionId: string): Promise<readonly CheckResult[]> {
  const { result } = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as StatusWithResult
  return checksOf(result)
}

interface StatusWithResult {
  readonly result: Parameters<typeof checksOf>[0]
}

function wordsOf(checkId: string) {
  const { asks, spec, level } = allChecks.find(({ id }) => id === checkId) ?? {}
  return { asks, spec, level }
}
