/**
 * Every attack of the tables beside this file: a good presentation with one thing wrong, signed again with the right keys,
 * and posted to the service. One check fails, what depends on it is not run, and everything else passes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TRANSACTION_CHECK } from '../../src/protocol/transaction-data.ts'
import { allChecks, evidenceChecks, readingChecks, responseChecks } from '../../src/verifier/checks/index.ts'
import type { CredentialReport, Report } from '../../src/verifier/verification.ts'
import { verify } from '../../src/verifier/verification.ts'
import { makeForgery, putTogether, startWorld, type World } from '../support/forge.ts'
import { ISSUER_URL, VERIFIER_URL } from '../support/services.ts'
import {
  bindingTo,
  dcqlQuery,
  keyProof,
  postForm,
  redeem,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'
import type { Attack } from './attack.ts'
import { credentialAttacks } from './verifier-credential.ts'
import { holderAttacks } from './verifier-holder.ts'
import { issuerAttacks } from './verifier-issuer.ts'
import { responseAttacks } from './verifier-response.ts'
import { transactionAttacks } from './verifier-transaction.ts'

const tables = {
  'the issuer': issuerAttacks,
  'the holder': holderAttacks,
  'the credential': credentialAttacks,
  'the response': responseAttacks,
  'a transaction': transactionAttacks,
}
const attacks: readonly Attack[] = Object.values(tables).flat()

/** Refused by the endpoint before anything is verified, and therefore shown without it at the end. */
const beforeVerification = 'presentation.session'

describe('attacks on the verification service', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world.services.close())

  for (const [subject, rows] of Object.entries(tables)) {
    describe(`on ${subject}`, () => {
      it.each(rows)('$attack ($fails)', (row) => expectFailure(world, row))
    })
  }

  it('nothing is wrong with a presentation in which nothing was changed', async () => {
    const { status, body, report } = await send(world, {})
    expect([status, body]).toEqual([200, {}])
    expect(report).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', result: { verified: true } })
    expect(outcomesOf((report.result as Report).credentials.card?.[0])).toEqual(
      expected([...readingChecks, ...evidenceChecks]),
    )
  })

  it('a response to another request has the wrong state (presentation.session)', async () => {
    const { request } = await startVerification(world.services)
    const text = await putTogether(await makeForgery(world, request))
    const { checks } = verify(
      { vpToken: new Map([['card', [text]]]), state: 'the state of another session' },
      {
        ...strangerContext(world),
        state: request.state,
        binding: bindingTo(request.nonce, request.client_id, world.services.clock.now),
      },
    )
    expect(outcomesOf({ checks })).toEqual(expected(responseChecks, { fails: beforeVerification }))
  })

  describe('a JWT of another kind as the presentation', () => {
    const others = {
      'an access token': async ({ services }: World) => redeem(services, (await startIssuance(services)).sessionId),
      'a key proof': async ({ services, holder }: World) =>
        keyProof({ holder, nonce: 'n', audience: ISSUER_URL }, services.clock.now),
      'a request object': async ({ services }: World) => {
        const { sessionId } = await startVerification(services)
        return (await services.fetch(`${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`)).text()
      },
      'a key binding': async (world: World) => {
        const { request } = await startVerification(world.services)
        return (await putTogether(await makeForgery(world, request))).split('~').at(-1) ?? ''
      },
    }
    it.each(Object.entries(others))('is not accepted: %s, as it is or with a tilde', async (_, make) => {
      const text = await make(world)
      expect(text.split('.')).toHaveLength(3)
      const unbound = { meta: {}, claims: undefined, require_cryptographic_holder_binding: false }
      for (const query of [{}, unbound]) {
        for (const presentation of [text, `${text}~`]) {
          const { status, report } = await send(world, { query, vpToken: () => ({ card: [presentation] }) })
          expect([status, report.status]).toEqual([400, 'VERIFICATION_FAILED'])
          const [wellFormed, format] = presentation === text ? ['failed', 'not_run'] : ['passed', 'failed']
          expect(outcomesOf((report.result as Report).credentials.card?.[0])).toMatchObject({
            'presentation.well_formed': wellFormed,
            'query.format': format,
            'issuer.trusted': expect.stringMatching(/^(failed|not_run)$/) as string,
          })
        }
      }
    })
  })

  it('there is an attack on every check, and a check for every attack', () => {
    const ids = allChecks.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const shown = new Set([...attacks.map(({ fails }) => fails), beforeVerification])
    expect([...shown].sort()).toEqual([...ids].sort())
    expect(attacks.flatMap(({ notRun = [] }) => notRun).filter((id) => !ids.some((known) => known === id))).toEqual([])
  })

  it('every attack has a sentence of its own', () => {
    const sentences = attacks.map(({ attack }) => attack)
    expect(sentences.filter((sentence, at) => sentences.indexOf(sentence) !== at)).toEqual([])
  })
})

async function expectFailure(world: World, row: Attack): Promise<void> {
  const { status, body, report } = await send(world, row)
  expect(body).toEqual({ error: 'invalid_request', error_description: 'the presentation was not accepted' })
  expect(status).toBe(400)
  expect(report.status).toBe('VERIFICATION_FAILED')
  const { verified, checks, credentials } = report.result as Report
  expect(verified).toBe(false)
  expect(outcomesOf({ checks })).toEqual(expected(responseChecks, row))
  for (const credential of Object.values(credentials).flat()) {
    expect(outcomesOf(credential)).toEqual(expected([...readingChecks, ...evidenceChecks], row))
    const failed = credential.checks.some(({ id }) => id === row.fails)
    if (failed) expect(Object.keys(credential).sort()).toEqual(['checks', 'format'])
  }
  const failures = [
    ...checks,
    ...Object.values(credentials).flatMap((each) => each.flatMap((one) => one.checks)),
  ].filter(({ outcome }) => outcome === 'failed')
  expect(failures.map(({ detail }) => detail)).not.toContain(undefined)
  // An exception fails a check as well; none but this one is meant to.
  const thrown = failures.filter(({ detail }) => detail?.startsWith('could not be checked'))
  expect(thrown.filter(({ detail }) => detail?.endsWith('the key is not a point on the curve P-256') !== true)).toEqual(
    [],
  )
}

/** Starts a session, presents what the row makes of a good presentation, and asks for the status. */
async function send(world: World, row: Partial<Attack>) {
  const { services } = world
  const [usual] = dcqlQuery.credentials
  const query = { credentials: [{ ...usual, ...row.query }], ...row.dcql }
  const more = row.transactions ? { transaction_data: row.transactions } : {}
  const { sessionId, request } = await startVerification(services, query, more)
  const forgery = await makeForgery(world, request)
  await row.change?.(forgery, world)
  const presentation = await putTogether(forgery)
  const vpToken = row.vpToken?.(presentation) ?? { card: [presentation] }
  const form = { vp_token: JSON.stringify(vpToken), state: request.state }
  const response = await postForm(services, request.response_uri, form)
  const report = await statusOf(services, VERIFIER_URL, sessionId)
  return { status: response.status, body: await response.json(), report }
}

function outcomesOf(report: Pick<CredentialReport, 'checks'> | undefined): Record<string, string> {
  return Object.fromEntries((report?.checks ?? []).map(({ id, outcome }) => [id, outcome]))
}

/** The outcome of each of `checks` when the row's check fails, and only that. */
function expected(checks: readonly { readonly id: string }[], row: Partial<Attack> = {}): Record<string, string> {
  const waived = row.query?.require_cryptographic_holder_binding === false
  const outcome = (id: string) => {
    if (waived && id.startsWith('holder.')) return 'not_applicable'
    if (id === 'query.trusted_authorities' && !row.query?.trusted_authorities) return 'not_applicable'
    if (id === TRANSACTION_CHECK && row.transactions === undefined) return 'not_applicable'
    if (id === row.fails) return 'failed'
    return row.notRun?.includes(id) ? 'not_run' : 'passed'
  }
  return Object.fromEntries(checks.map(({ id }) => [id, outcome(id)]))
}

/** The policy of a verifier, for calling it without the service. */
function strangerContext({ services }: World) {
  return {
    query: dcqlQuery,
    sessionStart: services.clock.now,
    now: services.clock.now,
    clockSkewSeconds: 60,
    trustAnchors: [],
    parseCertificate: () => {
      throw new Error('not asked')
    },
  }
}
