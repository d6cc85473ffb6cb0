/**
 * Attacks on the authorization code flow by what is in its requests: addresses, texts for headers, and JSON that is
 * large, deep or named like the members of every object.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  authorizeUrl,
  bring,
  decide,
  declareWithScope,
  newVisitor,
  PAR,
  push,
  SCOPE,
  sendDecision,
  startCodeFlow,
  visit,
  walletAsking,
} from '../support/code-flow.ts'
import { expectRefusal } from '../support/issuance.ts'
import { partOfLimit } from '../support/processor-time.ts'
import { API_KEY, ISSUER_URL, type Services } from '../support/services.ts'
import { postForm } from '../support/wire.ts'

let services: Services
let configurationId: string
beforeAll(async () => {
  services = await startCodeFlow()
  configurationId = await declareWithScope(services)
})
afterAll(() => services.close())

const interactionOf = async (more = {}): Promise<{ interaction: string; browser: ReturnType<typeof newVisitor> }> => {
  const browser = newVisitor()
  const requestUri = await push(services, walletAsking({ scope: SCOPE, ...more }).form)
  return { interaction: await bring(services, browser, { requestUri }), browser }
}

describe('a redirect URI', () => {
  it.each<[string, string]>([
    ['a tab in its path', 'https://wallet.example/c\tb'],
    ['a tab in its scheme', 'java\tscript:alert(1)'],
    ['a null byte', 'https://wallet.example/\0'],
    ['a space before it', ' https://wallet.example/cb'],
    ['a full-width dot', 'https://wallet\u3002example/cb'],
    ['letters that look like others', 'https://w\u0430llet.example/cb'],
    ['a soft hyphen', 'https://wal\u00adlet.example/cb'],
    ['a port that is none', 'https://wallet.example:99999/cb'],
    ['a host that does not end', `https://${'a'.repeat(2100)}.example/cb`],
    ['this machine in another notation', 'http://2130706433.thief.example/cb'],
    ['a host in brackets that is none', 'https://[::1/cb'],
  ])('with %s is refused where it was made', async (_, redirectUri) => {
    const form = { ...walletAsking().form, redirect_uri: redirectUri }
    const refused = await postForm(services, PAR, form)
    await expectRefusal(refused, { status: 400, error: 'invalid_request', why: /^redirect_uri/ })
  })
})

describe('a text that ends up in a header', () => {
  it('splits no response: the reason of the application is encoded, and the state comes back as it was', async () => {
    const state = "a &code=stolen#x';--+ "
    const { interaction, browser } = await interactionOf({ state })
    const split = 'No\r\nSet-Cookie: a=b\r\n\r\n<script>'
    await expectRefusal(await decide(services, interaction, { denied: true, reason: split }), {
      status: 400,
      error: 'invalid_request',
      why: /^reason/,
    })
    const reason = "No&code=stolen&state=x#<script>alert('x')</script>"
    const { address } = await sendDecision(services, interaction, { denied: true, reason })
    const answer = await visit(services, browser, address)
    const location = answer.headers.get('location') ?? ''
    expect(location).toMatch(/^[!-~]+$/)
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([303, null])
    const { searchParams } = new URL(location)
    expect([searchParams.getAll('code'), searchParams.getAll('state')]).toEqual([[], [state]])
    expect(searchParams.get('error_description')).toBe(reason)
  })

  it.each(['a\rb', 'a\nb', 'a\0b', 'a\u0100b', 'a\x7fb', 'a\tb'])(
    'is refused as a state or client id: %j',
    async (text) => {
      for (const name of ['state', 'client_id']) {
        const refused = await postForm(services, PAR, { ...walletAsking().form, [name]: text })
        await expectRefusal(refused, { status: 400, error: 'invalid_request', why: new RegExp(`^${name}`) })
      }
    },
  )
})

describe('the query of an authorization request', () => {
  const asked = (query: (query: string) => string) => {
    const [path, text = ''] = authorizeUrl(walletAsking().form).split('?')
    return visit(services, newVisitor(), `${path}?${query(text)}`)
  }

  it.each<[string, (query: string) => string]>([
    ['a parameter without a value after it', (query) => `${query}&scope=&request_uri`],
    ['a parameter without a value before it', (query) => `scope=&client_id=&${query}`],
    ['parameters that nobody knows, twice', (query) => `${query}&a=1&a=2&a[]=3&__proto__=4`],
    ['nothing between two ampersands', (query) => `&&${query}&&`],
  ])('may have %s', async (_, query) => {
    expect((await asked(query)).status).toBe(303)
  })

  it.each<[string, (query: string) => string, RegExp]>([
    ['the same parameter twice', (query) => `${query}&client_id=com.example.wallet`, /^client_id: given more/],
    ['percent signs that encode nothing', (query) => query.replace(/state=[^&]*/, 'state=%zz'), /percent-encoded/],
    ['percent signs that encode Latin-1', (query) => query.replace(/state=[^&]*/, 'state=%E9'), /percent-encoded/],
  ])('is refused with %s', async (_, query, why) => {
    await expectRefusal(await asked(query), { status: 400, error: 'invalid_request', why })
  })
})

describe('authorization details', () => {
  const detail = () => ({ type: 'openid_credential', credential_configuration_id: configurationId })
  const pushed = (details: string) =>
    postForm(services, PAR, { ...walletAsking({ scope: '' }).form, authorization_details: details })

  it('that are ten thousand are refused before they are read', async () => {
    const details = JSON.stringify(Array.from({ length: 10_000 }, detail))
    const part = await partOfLimit(1000, async () => expect((await pushed(details)).status).toBe(413))
    expect(part).toBeLessThan(1)
  })

  it.each<[string, () => string]>([
    ['as many as fit', () => JSON.stringify(Array.from({ length: 51 }, detail))],
    ['none', () => '[]'],
    ['deep', () => `${'['.repeat(2000)}${']'.repeat(2000)}`],
    ['deep in objects', () => `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`],
    [
      'named twice',
      () => `[{"type":"openid_credential","type":"x","credential_configuration_id":"${configurationId}"}]`,
    ],
    ['of a type like every object has', () => '[{"type":"__proto__","credential_configuration_id":"a"}]'],
    ['inherited', () => `[{"__proto__":${JSON.stringify(detail())}}]`],
    [
      'for a configuration like every object has',
      () => JSON.stringify([{ ...detail(), credential_configuration_id: 'constructor' }]),
    ],
    ['a number', () => '1e400'],
    ['for claims by a text', () => JSON.stringify([{ ...detail(), claims: 'x' }])],
    ['for no claims', () => JSON.stringify([{ ...detail(), claims: [] }])],
    ['for claims without a path', () => JSON.stringify([{ ...detail(), claims: [{ mandatory: true }] }])],
    ['for claims by an empty path', () => JSON.stringify([{ ...detail(), claims: [{ path: [] }] }])],
  ])('that are %s are refused', async (_, details) => {
    await expectRefusal(await pushed(details()), { status: 400, error: 'invalid_authorization_details' })
  })

  it.each([{ claims: [{ path: ['credentialSubject', 'degrees', null] }] }, { claims: { given_name: {} } }])(
    'that say which claims the wallet wants are taken, also as drafts up to 14 have them: %j',
    async (more) => expect((await pushed(JSON.stringify([{ ...detail(), ...more }]))).status).toBe(201),
  )

  it('that are right are taken, also fifty times the same', async () => {
    expect((await pushed(JSON.stringify(Array.from({ length: 50 }, detail)))).status).toBe(201)
  })
})

describe('a decision of the application', () => {
  const send = (interaction: string, body: string) =>
    services.fetch(`${ISSUER_URL}/auth/interaction/complete/${interaction}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
      body,
    })

  it.each<[string, string]>([
    ['inherits its dataset', '{"__proto__": {"credential_dataset": {"credentialSubject": {"given_name": "Eve"}}}}'],
    ['inherits its approval', '{"__proto__": {"approved": true}}'],
    ['has a dataset twice', '{"credential_dataset": {"credentialSubject": {}}, "credential_dataset": {}}'],
    ['is deep', `{"credential_dataset": ${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}}`],
    ['is a list', '[]'],
    ['says nothing', '{}'],
  ])('that %s is refused, and the next one counts', async (_, body) => {
    const { interaction } = await interactionOf()
    expect((await send(interaction, body)).status).toBe(400)
    expect((await decide(services, interaction, { credential_dataset: { credentialSubject: { a: 1 } } })).status).toBe(
      200,
    )
  })

  it('whose dataset has a member __proto__ pollutes nothing', async () => {
    const { interaction } = await interactionOf()
    const dataset = '{"credentialSubject": {"given_name": "Ada", "__proto__": {"polluted": "yes"}}}'
    expect((await send(interaction, `{"credential_dataset": ${dataset}}`)).status).toBe(400)
    expect(({} as { polluted?: string }).polluted).toBe(undefined)
  })
})
