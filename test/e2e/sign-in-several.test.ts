/**
 * A person signs in once for several credentials: each has the claims that the settings name for it, and none of the
 * others.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { formatOf } from '../../src/credential/formats.ts'
import {
  CLIENT_ID,
  type CodeFlow,
  type Form,
  offerFor,
  readyWith,
  redeemCode,
  type TokenBody,
  tokenBody,
  tokenForm,
} from '../support/code-flow.ts'
import { request } from '../support/issuance.ts'
import { NAMESPACE } from '../support/mdoc.ts'
import { ACCOUNT, comeBack, comeToPage, type SigningIn, startSigningIn, wayToWallet } from '../support/sign-in.ts'
import { declare } from '../support/wire.ts'

const scopeOf = { scope: 'library employee' }
const datasets = {
  library: { claims: { given_name: 'given_name' }, constants: { role: 'reader' } },
  employee: { claims: { given_name: 'given_name', salary: 'salary' }, constants: { role: 'librarian' } },
  licence: { claims: { [NAMESPACE]: { given_name: 'given_name' } }, constants: { plain: { role: 'driver' } } },
  badge: { claims: { credentialSubject: { salary: 'salary' } } },
}
const own = {
  library: { given_name: 'Ada', role: 'reader' },
  employee: { given_name: 'Ada', salary: 91_000, role: 'librarian' },
}

describe('one sign-in for several credentials', () => {
  let all: SigningIn
  let library: string
  let employee: string
  const declareCard = (scope: string, more: object = {}) =>
    declare(all.services, { format: 'dc+sd-jwt', vct: `urn:example:${scope}`, scope, ...more })
  beforeAll(async () => {
    all = await startSigningIn({ datasets })
    library = await declareCard('library')
    employee = await declareCard('employee')
  })
  afterAll(() => all.services.close())
  beforeEach(() => {
    all.provider.account = { ...ACCOUNT, salary: 91_000 }
  })

  const signIn = async (form: Form) => {
    const at = await comeToPage(all.services, form)
    const { code = '' } = await wayToWallet(all.services, at.browser, await comeBack(all, at))
    const step = (await all.services.issuerStore.get('authorization_request', at.interaction))?.value.step
    const sessionId = step !== undefined && 'sessionId' in step ? step.sessionId : ''
    return { sessionId, token: await tokenBody(await redeemCode(all.services, tokenForm(at.wallet, code))) }
  }
  /** Asks for a credential, and returns the claims that a wallet can show. */
  const receive = async (sessionId: string, token: TokenBody, id: string, format = 'dc+sd-jwt', body = {}) => {
    const coded = { services: all.services, sessionId } as CodeFlow
    const response = await request(await readyWith(coded, token.access_token, id), body)
    const answer = (await response.json()) as { readonly credentials?: readonly { readonly credential: string }[] }
    expect([response.status, answer]).toMatchObject([200, { credentials: [{}] }])
    const { claims = {}, securingMembers = [] } =
      formatOf(format)?.readHeld(answer.credentials?.[0]?.credential ?? '') ?? {}
    return Object.fromEntries(Object.entries(claims).filter(([name]) => !securingMembers.includes(name)))
  }

  it('gives each the claims of its own, by scopes in whatever order', async () => {
    for (const scope of ['library employee', 'employee library']) {
      const { sessionId, token } = await signIn({ scope })
      expect(await receive(sessionId, token, library)).toEqual(own.library)
      expect(await receive(sessionId, token, employee)).toEqual(own.employee)
    }
  })

  it('gives each the claims of its own, by credential identifiers', async () => {
    const details = [library, employee].map((id) => ({ type: 'openid_credential', credential_configuration_id: id }))
    const { sessionId, token } = await signIn({ authorization_details: JSON.stringify(details) })
    const granted = token.authorization_details as { readonly credential_identifiers: readonly string[] }[]
    for (const [index, claims] of [own.library, own.employee].entries()) {
      const credential_identifier = granted[index]?.credential_identifiers[0]
      const body = { credential_configuration_id: undefined, credential_identifier }
      expect(await receive(sessionId, token, library, 'dc+sd-jwt', body)).toEqual(claims)
    }
  })

  it('gives each of an offer the claims of its own, also anew after a refresh, and erases all in the end', async () => {
    const more = { deferred: true, credential_dataset: undefined, credential_configurations: [library, employee] }
    const { sessionId, issuerState } = await offerFor(all.services, library, more)
    const { token } = await signIn({ ...scopeOf, issuer_state: issuerState })
    expect(await receive(sessionId, token, employee)).toEqual(own.employee)
    const form = { grant_type: 'refresh_token', refresh_token: token.refresh_token ?? '', client_id: CLIENT_ID }
    const refreshed = await tokenBody(await redeemCode(all.services, form))
    expect(await receive(sessionId, refreshed, employee)).toEqual(own.employee)
    expect(await receive(sessionId, refreshed, library)).toEqual(own.library)
    all.services.clock.now = new Date(all.services.clock.now.getTime() + 8 * 86_400_000)
    await all.services.runTasks()
    expect(await all.services.issuerStore.get('issuance_dataset', sessionId)).toMatchObject({ value: null })
  })

  it('gives each format its dataset as if it was asked for alone', async () => {
    const licence = await declareCard('licence', { format: 'mso_mdoc', vct: undefined, doctype: `${NAMESPACE}.mDL` })
    const definition = { type: ['VerifiableCredential', 'Badge'] }
    const w3c = { format: 'jwt_vc_json', vct: undefined, credential_definition: definition }
    const badge = await declareCard('badge', w3c)
    const { sessionId, token } = await signIn({ scope: 'badge licence library' })
    expect(await receive(sessionId, token, library)).toEqual(own.library)
    expect(await receive(sessionId, token, licence, 'mso_mdoc')).toEqual({
      [NAMESPACE]: { given_name: 'Ada' },
      plain: { role: 'driver' },
    })
    expect(await receive(sessionId, token, badge, 'jwt_vc_json')).toMatchObject({
      credentialSubject: { salary: 91_000 },
    })
  })

  it('gives none that lacks what it must have, also where another has a claim of that name', async () => {
    const claims = [{ path: ['salary'], mandatory: true }]
    const strict = await declareCard('library', { credential_metadata: { claims } })
    const { issuerState } = await offerFor(all.services, library, {
      ...{ deferred: true, credential_dataset: undefined },
      credential_configurations: [strict, employee],
    })
    const at = await comeToPage(all.services, { ...scopeOf, issuer_state: issuerState })
    expect(await (await comeBack(all, at)).text()).toContain('the claims do not fit')
  })
})
