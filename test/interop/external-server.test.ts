/**
 * Credentials for access tokens of an independent authorization server: the npm package `oidc-provider`, asked over
 * real sockets, with an independent wallet and with ours.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOutbound } from '../../src/bin/network/outbound.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { receiveOffer as receiveByOurs } from '../../src/wallet/receive.ts'
import { expectIssued, expectRefusal, type Ready, request } from '../support/issuance.ts'
import { ISSUER_URL, type ServiceOptions, type Services, startServices } from '../support/services.ts'
import { testWallet } from '../support/wallet.ts'
import { dataset, declare, fetchNonce, GRANT, holderSigner, startIssuance, statusOf } from '../support/wire.ts'
import { CLIENT, type ExternalServer, type Options, startExternalServer, WALLET } from './authorization-server.ts'
import { FINAL, receive } from './openid4vc.ts'

let server: ExternalServer
let services: Services
let configurationId: string

async function start(options: Options, settings: object = {}): Promise<void> {
  server = await startExternalServer(options)
  services = await startIssuer({ issuer: server.issuer, ...settings })
  configurationId = await declare(services)
}

async function startIssuer(authorizationServer: object): Promise<Services> {
  const issuer = { id: ISSUER_URL, display: { name: 'Example University' }, identifier: 'base' }
  const options: ServiceOptions = { issuer: { issuer, authorizationServer }, outbound: createOutbound() }
  const started = await startServices(options)
  // The other server has no clock that we hold.
  return { ...started, fetch: reaching(started) }
}

async function stop(): Promise<void> {
  await services.close()
  await server.close()
}

/** Makes a fetch that reaches our services in this process, and the other server by its socket. */
function reaching({ fetch }: Services): typeof globalThis.fetch {
  return (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    return url.startsWith(server.issuer) ? globalThis.fetch(input, init) : fetch(input, init)
  }
}

/** Makes an offer as the application: the code comes from the other server, and goes into the offer. */
async function offer(txCode?: string) {
  const code = await server.makeCode(txCode)
  const body = {
    credential_configurations: [configurationId],
    'pre-authorized_code': code,
    ...(txCode === undefined ? {} : { tx_code: { length: txCode.length } }),
  }
  return { ...(await startIssuance(services, body)), id: configurationId, code }
}

async function ready(): Promise<Ready> {
  const { sessionId, code } = await offer()
  const form = { grant_type: GRANT, 'pre-authorized_code': code, client_id: WALLET }
  const { body } = await server.requestToken(form)
  const [nonce, holder] = [await fetchNonce(services, sessionId), await holderSigner()]
  const token = body.access_token as string
  return { services, configurationId, sessionId, code, form, token, nonce, holder, audience: ISSUER_URL }
}

const INVALID = { status: 401, error: 'invalid_token' } as const
const wallet = { ...FINAL, clientId: WALLET }

describe('oidc-provider as the authorization server', () => {
  beforeAll(() => start({ format: 'jwt', alg: 'ES256' }))
  afterAll(stop)

  it('takes code and transaction code of an independent wallet, which gets its credential from us', async () => {
    const signer = await holderSigner()
    const { sessionId, ...started } = await offer('493536')
    const credential = await receive(services, started, { signer }, { ...wallet, txCode: '493536' })
    expect(formatOf('jwt_vc_json-ld')?.readHeld(credential).claims.credentialSubject).toEqual(dataset.credentialSubject)
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'SUCCEEDED' })
    const again = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
    await expectRefusal(again, { status: 410, error: 'gone', why: /used/ })
  })

  it('gives no token for a wrong transaction code', async () => {
    const signer = await holderSigner()
    const { sessionId, ...started } = await offer('493536')
    await expect(receive(services, started, { signer }, { ...wallet, txCode: '493537' })).rejects.toThrow()
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
  })

  it('is found by our wallet, which gets its credential from us', async () => {
    const { link, sessionId } = await offer('493536')
    // The server wants to know of every client, where OpenID4VCI lets wallets be anonymous.
    const { wallet: ours, sent } = testWallet(services.fetch, services.clock, { clientId: WALLET })
    expect(await receiveByOurs(ours, link, { askTxCode: () => Promise.resolve('493536') })).toHaveLength(1)
    expect(sent.map(({ to }) => to).filter((to) => to.includes(server.issuer))).toEqual([
      `GET ${server.issuer}/.well-known/oauth-authorization-server`,
      `POST ${server.issuer}/token`,
    ])
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'SUCCEEDED' })
  })

  it('gives a token of the client credentials grant that opens nothing', async () => {
    const good = await ready()
    const { body } = await server.requestToken({
      grant_type: 'client_credentials',
      client_id: 'machine',
      client_secret: 'm'.repeat(32),
      scope: 'credential',
    })
    const response = await request({ ...good, token: body.access_token as string })
    await expectRefusal(response, { status: 403, error: 'insufficient_scope', why: /no issuance session/ })
    await expectIssued(good)
  })

  it('may change its keys between two requests', async () => {
    const before = await ready()
    await expectIssued(before)
    services.clock.now = new Date(services.clock.now.getTime() + 10_000)
    await server.rotate()
    await expectIssued(await ready())
    // The keys of the server are gone, and so are its tokens.
    const nonce = await fetchNonce(services, before.sessionId)
    await expectRefusal(await request({ ...before, nonce }), INVALID)
    services.clock.now = new Date()
  })

  it('gives tokens that expire', async () => {
    const good = await ready()
    services.clock.now = new Date(Date.now() + 361_000)
    await expectRefusal(await request(good), { ...INVALID, why: /expired/ })
    services.clock.now = new Date()
    await expectIssued({ ...good, nonce: await fetchNonce(services, good.sessionId) })
  })

  it('gives tokens that no other server can give', async () => {
    const good = await ready()
    const another = await startExternalServer({ format: 'jwt', alg: 'ES256' })
    const form = { ...good.form, 'pre-authorized_code': await another.makeCode() }
    const { body } = await another.requestToken(form)
    const response = await request({ ...good, token: body.access_token as string })
    await expectRefusal(response, { ...INVALID, why: /another issuer/ })
    await another.close()
    await expectIssued(good)
  })
})

describe('oidc-provider with other settings', () => {
  it('signs with RS256 unless it is told otherwise', async () => {
    await start({ format: 'jwt', alg: 'RS256' })
    await expectIssued(await ready())
    await stop()
  })

  it('gives tokens for another audience, which are refused', async () => {
    await start({ format: 'jwt', alg: 'ES256', audience: 'https://other.example' })
    await expectRefusal(await request(await ready()), { ...INVALID, why: /audience/ })
    await stop()
  })

  it('gives tokens for an audience that is configured', async () => {
    const audience = 'https://credentials.example'
    await start({ format: 'jwt', alg: 'ES256', audience }, { audience })
    await expectIssued(await ready())
    await stop()
  })

  it('gives opaque tokens, which it says all about', async () => {
    await start({ format: 'opaque', alg: 'ES256' }, { introspection: CLIENT })
    const good = await ready()
    expect(good.token).not.toContain('.')
    await expectIssued(good)
    await expectRefusal(await request({ ...good, token: 'made-up' }), { ...INVALID, why: /not active/ })
    await stop()
  })

  it('answers nothing to a client with a wrong secret', async () => {
    await start({ format: 'opaque', alg: 'ES256' }, { introspection: { ...CLIENT, clientSecret: 'wrong' } })
    await expectRefusal(await request(await ready()), { status: 503, error: 'temporarily_unavailable' })
    expect(services.logLines.join('')).toMatch(/token\/introspection answered 401/)
    await stop()
  })
})

describe('a key server that does not do as it should', () => {
  it.each([
    ['never answers', () => undefined, /gave no whole answer/],
    [
      'sends without end',
      (write: (text: string) => boolean) => setInterval(() => write('a'.repeat(65_536)), 1),
      /large|long|bytes/,
    ],
  ] as const)('and %s is given up', async (_, behave, why) => {
    const timers: (NodeJS.Timeout | undefined)[] = []
    const http = createServer((__, response) => {
      timers.push(behave((text) => response.write(text)))
    })
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    const jwksUri = `http://127.0.0.1:${(http.address() as AddressInfo).port}/jwks`
    await start({ format: 'jwt', alg: 'ES256' }, { jwksUri })
    const good = await ready()
    await expectRefusal(await request(good), { status: 503, error: 'temporarily_unavailable' })
    expect(services.logLines.join('')).toMatch(why)
    for (const timer of timers) clearInterval(timer)
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
    await stop()
  })
})
