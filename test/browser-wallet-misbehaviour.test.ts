/** Every misbehaviour of the console's wallet, in every format: the check or error that it names is what catches it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  misbehaviours,
  type PresentationMemory,
  rememberPresentations,
  withRequest,
} from '../console/wallet/misbehaviour.ts'
import { receivingMisbehaviours } from '../console/wallet/receiving-misbehaviour.ts'
import type { VerificationReport } from '../src/verifier/verification.ts'
import { isMatched } from '../src/wallet/match-credentials.ts'
import { planPresentation, sendPresentation } from '../src/wallet/present.ts'
import { receiveOffer } from '../src/wallet/receive.ts'
import { mdocDataset, mdocProfile } from './support/mdoc.ts'
import { profiles, queryFor } from './support/profiles.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from './support/services.ts'
import { errorOf, type TestWallet, testWallet } from './support/wallet.ts'
import { dataset, declare, startIssuance, startVerification, statusOf } from './support/wire.ts'

/** The misbehaviours that a format cannot show, and no others. */
const UNSUITED: Readonly<Record<string, readonly string[]>> = {
  jwt_vc_json: ['unbound', 'disclosure', 'missing'],
  mso_mdoc: ['stale', 'unbound'],
}

describe.each([...profiles, mdocProfile].map((profile) => [profile.format, profile] as const))(
  'a misbehaving wallet with %s',
  (format, profile) => {
    let services: Services
    let made: TestWallet
    const remembered: PresentationMemory = new Map()
    beforeAll(async () => {
      services = await startServices()
      made = testWallet(services.fetch, services.clock)
      const id = await declare(services, profile.configuration)
      const data = format === 'dc+sd-jwt' ? dataset.credentialSubject : dataset
      await receiveOffer(
        made.wallet,
        (
          await startIssuance(services, {
            credential_configurations: [id],
            credential_dataset: format === 'mso_mdoc' ? mdocDataset : data,
          })
        ).link,
      )
    })
    afterAll(() => services.close())

    async function planned() {
      const { sessionId, link } = await startVerification(services, { credentials: [queryFor(profile)] })
      const plan = await planPresentation(made.wallet, link)
      const [answer] = plan.matches.filter(isMatched)
      if (answer === undefined) throw new Error(plan.problem)
      return { sessionId, plan, answer }
    }

    it('has something to replay once it has presented honestly', async () => {
      const first = await planned()
      const replay = misbehaviours.find(({ id }) => id === 'replay')
      expect(replay?.findProblem(first.answer, remembered)).toMatch(/present this credential honestly first/)
      await sendPresentation(made.wallet, first.plan, rememberPresentations(remembered))
      expect(await statusOf(services, VERIFIER_URL, first.sessionId)).toMatchObject({
        status: 'VERIFICATION_SUCCEEDED',
      })
      expect(replay?.findProblem(first.answer, remembered)).toBeUndefined()
    })

    it.each(misbehaviours.map((each) => [each.title, each] as const))(
      'is caught by the named check: %s',
      async (_, each) => {
        const { sessionId, plan, answer } = await planned()
        const isUnsuited = UNSUITED[format]?.includes(each.id) === true
        expect(each.findProblem(answer, remembered) !== undefined).toBe(isUnsuited)
        if (isUnsuited) return
        const error = await errorOf(sendPresentation(made.wallet, plan, each.createPresentation(remembered)))
        expect(error.server?.error).toBe('invalid_request')
        const { status, result } = await statusOf(services, VERIFIER_URL, sessionId)
        expect(status).toBe('VERIFICATION_FAILED')
        const { checks, credentials } = result as VerificationReport
        const all = [
          ...checks,
          ...Object.values(credentials).flatMap((reports) => reports.flatMap((one) => one.checks)),
        ]
        const failed = all.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
        expect(failed).toEqual([each.expectedCheck(format)])
      },
    )

    it('is refused with another state, and the session goes on waiting', async () => {
      const { sessionId, plan } = await planned()
      const error = await errorOf(sendPresentation(made.wallet, withRequest(plan, { state: 'of another request' })))
      expect(error.server).toMatchObject({
        error: 'invalid_request',
        error_description: expect.stringContaining('state') as string,
      })
      expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
      await sendPresentation(made.wallet, plan)
    })
  },
)

describe('a wallet that misbehaves when it receives', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  it.each(receivingMisbehaviours.map((each) => [each.title, each] as const))(
    'is refused with the named error: %s',
    async (_, each) => {
      const { wallet, texts } = testWallet(services.fetch, services.clock)
      const { sessionId, link } = await startIssuance(services)
      const error = await errorOf(receiveOffer(each.changeWallet(wallet), link))
      expect(error.server?.error).toBe(each.error)
      expect(texts.size).toBe(0)
      const status = await statusOf(services, ISSUER_URL, sessionId)
      expect(status).toMatchObject({ status: 'STARTED' })
    },
  )
})
