/** Attacks on the authorization code flow by requests that come at once, and by what comes after a replayed code. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  authorizeForCode,
  bring,
  type CodeFlow,
  decide,
  declareWithScope,
  newVisitor,
  offerFor,
  PAR,
  push,
  redeemCode,
  response,
  SCOPE,
  sendDecision,
  startCodeFlow,
  tokenBody,
  tokenForm,
  walletAsking,
} from '../support/code-flow.ts'
import { TOKEN_ENDPOINT } from '../support/issuance.ts'
import type { Services } from '../support/services.ts'
import { dataset, postForm } from '../support/wire.ts'

const REFRESHED = { credential_dataset: dataset, refresh_seconds: 86_400 }

describe('an attack by requests at once', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startCodeFlow()
    configurationId = await declareWithScope(services)
  })
  afterAll(() => services.close())

  const refreshed = ({ form }: CodeFlow, token = '') =>
    postForm(services, TOKEN_ENDPOINT, {
      grant_type: 'refresh_token',
      refresh_token: token,
      client_id: form.client_id ?? '',
    })

  it('replays the code while its token is refreshed, and leaves nothing to refresh', async () => {
    const done = await authorizeForCode(services, { decision: REFRESHED })
    const { refresh_token: first } = await tokenBody(await redeemCode(services, done.form))
    const [replay, answer] = await Promise.all([redeemCode(services, done.form), refreshed(done, first)])
    expect(replay.status).toBe(400)
    const { refresh_token: second } = (await answer.json()) as { refresh_token?: string }
    const after = await Promise.all([refreshed(done, first), refreshed(done, second)])
    expect(after.map(({ status }) => status)).toEqual([400, 400])
  })

  it('completes one interaction twenty times, and gets one decision and one session', async () => {
    const requestUri = await push(services, walletAsking({ scope: SCOPE }).form)
    const interaction = await bring(services, newVisitor(), { requestUri })
    const before = (await services.issuerStore.list('issuance_session')).length
    const bodies = Array.from({ length: 20 }, (_, at) => (at % 2 ? { denied: true } : { credential_dataset: dataset }))
    const answers = await Promise.all(bodies.map((body) => decide(services, interaction, body)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    const isApproved = statuses.indexOf(200) % 2 === 0
    expect((await services.issuerStore.list('issuance_session')).length).toBe(before + (isApproved ? 1 : 0))
  })

  it('completes an interaction while its code is redeemed', async () => {
    const done = await authorizeForCode(services)
    const body = { credential_dataset: dataset }
    const [token, completed] = await Promise.all([
      redeemCode(services, done.form),
      decide(services, done.interaction, body),
    ])
    expect([token.status, completed.status]).toEqual([200, 410])
  })

  it('replays a code whose row has been purged, and gets nothing', async () => {
    const done = await authorizeForCode(services)
    await tokenBody(await redeemCode(services, done.form))
    const { now } = services.clock
    services.clock.now = new Date(now.getTime() + 3_600_000)
    await services.runTasks()
    expect(await services.issuerStore.get('authorization_request', done.interaction)).toBe(undefined)
    const replay = await redeemCode(services, done.form)
    expect([replay.status, await replay.text()]).toEqual([400, expect.stringMatching(/invalid_grant.*unknown/)])
    services.clock.now = now
  })

  it('has two wallets answer one offer, approved at once and redeemed at once, and one of them gets it', async () => {
    const { issuerState } = await offerFor(services, configurationId)
    const answering = async (): Promise<CodeFlow['form']> => {
      const [wallet, browser] = [walletAsking({ scope: SCOPE, issuer_state: issuerState }), newVisitor()]
      const interaction = await bring(services, browser, { requestUri: await push(services, wallet.form) })
      const { address } = await sendDecision(services, interaction, { approved: true })
      return tokenForm(wallet, (await response(services, browser, address)).code ?? '')
    }
    const forms = await Promise.all([answering(), answering()])
    const answers = await Promise.all(forms.map((form) => redeemCode(services, form)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
    const again = await Promise.all(forms.map((form) => redeemCode(services, form)))
    expect(again.map(({ status }) => status)).toEqual([400, 400])
  })

  it.each(['https:wallet.example/cb', 'https:/wallet.example/cb', 'https:///wallet.example/cb', 'HTTPS:cb'])(
    'has a redirect URI that a browser takes for another one: %s',
    async (uri) => {
      const form = { ...walletAsking({ scope: SCOPE }).form, redirect_uri: uri }
      const answer = await postForm(services, PAR, form)
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(/redirect_uri/)])
    },
  )
})
