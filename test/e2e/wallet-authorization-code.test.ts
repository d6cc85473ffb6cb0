/**
 * The reference wallet in the authorization code flow, by the commands in docs/authorization-code.md: services and
 * wallet are processes, and this test is the person's browser and the application's page.
 */
import { spawn } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { receiveWalletInitiated } from '../../src/wallet/receive.ts'
import { declareWithScope, SCOPE, startCodeFlow } from '../support/code-flow.ts'
import { visitor } from '../support/code-flow-visitor.ts'
import { endOf, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { snippetWith } from '../support/documents.ts'
import { freePort } from '../support/free-port.ts'
import { type Running, serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY, ISSUER_URL } from '../support/services.ts'
import { commandFolder } from '../support/shell.ts'
import { errorOf, testWallet } from '../support/wallet.ts'
import {
  makeInstance,
  makeProvider,
  trustingProvider,
  WALLET,
  walletAttestation,
} from '../support/wallet-attestation.ts'
import { declare } from '../support/wire.ts'

const PAGE = 'docs/authorization-code.md'
const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }

describe('the reference wallet', () => {
  let issuer: Running
  let configurationId: string
  beforeAll(async () => {
    const port = await freePort()
    const settings = JSON.parse(snippetWith(PAGE, '"authentication"')) as object
    const directory = await serviceDirectory('issuer', { port, baseUrl: `http://127.0.0.1:${port}`, ...settings })
    issuer = await start('issuer', directory)
    const configuration = { ...(JSON.parse(snippetWith(PAGE, '"vct"')) as object), batch_size: 3 }
    configurationId = await (await post('/credential-configuration/create', configuration)).text()
    return async () => {
      issuer.child.kill('SIGTERM')
      await issuer.ended
    }
  })

  const post = (path: string, body: object): Promise<Response> =>
    fetch(issuer.url + path, { method: 'POST', headers, body: JSON.stringify(body) })

  /** Starts the commands, and gives the address that they want somebody to open. */
  async function started(script: string, env: Record<string, string> = {}) {
    const home = temporaryDirectory()
    const path = `${commandFolder()}:${process.env.PATH ?? ''}`
    const own = { PATH: path, ISSUER_URL: issuer.url, VOUCHSAFE_WALLET_HOME: home, ...env }
    const child = spawn('bash', ['-euo', 'pipefail', '-c', `exec ${script}`], { env: { ...process.env, ...own } })
    onTestFinished(() => void child.kill('SIGKILL'))
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const ended = endOf(child)
    await expect.poll(() => said).toMatch(/http:\S+\n/)
    return { home, ended, address: /http:\S+/.exec(said)?.[0] ?? '' }
  }

  /** Runs the commands to their end. */
  function byShell(script: string, { home, ...env }: { readonly home: string; readonly [name: string]: string }) {
    const path = `${commandFolder()}:${process.env.PATH ?? ''}`
    const own = { PATH: path, VOUCHSAFE_WALLET_HOME: home, ...env }
    return endOf(spawn('bash', ['-euo', 'pipefail', '-c', script], { env: { ...process.env, ...own } }))
  }

  async function listed(home: string) {
    const { stdout } = await vouchsafe(['wallet', 'list', '--json', '--home', home])
    return (JSON.parse(stdout) as { credentials: { readonly id: string }[] }).credentials
  }

  /** Goes to the page as a browser, decides as the application, and gives the address of the way back. */
  async function comeBack(address: string, decision: object): Promise<URL> {
    const visited = await fetch(address, { redirect: 'manual' })
    const cookie = visited.headers.get('set-cookie')?.split(';')[0] ?? ''
    const page = new URL(visited.headers.get('location') ?? '')
    expect(page.origin).toBe('https://portal.example.edu')
    const decided = await post(`/auth/interaction/complete/${page.searchParams.get('interaction') ?? ''}`, decision)
    const { redirect_uri: back } = (await decided.json()) as { redirect_uri: string }
    const returned = await fetch(back, { redirect: 'manual', headers: { cookie } })
    return new URL(returned.headers.get('location') ?? '')
  }

  const dataset = { credential_dataset: { given_name: 'Ada' } }

  it('asks without an offer, and keeps what the application gives', async () => {
    const { home, ended, address } = await started(snippetWith(PAGE, '--scope'))
    const back = await comeBack(address, dataset)
    expect(back.origin + back.pathname).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
    expect(await (await fetch(back)).text()).toMatch(/The wallet has the answer/)
    const { status, stdout } = await ended
    expect([status, stdout]).toEqual([0, expect.stringMatching(/given_name +Ada[\s\S]*Received and kept/)])
    const listed = JSON.parse((await vouchsafe(['wallet', 'list', '--json', '--home', home])).stdout) as object
    expect(listed).toMatchObject({ credentials: [{ claims: { given_name: 'Ada' } }] })
  })

  it('answers an offer for this flow, as one JSON object for programs', async () => {
    const body = { ...dataset, credential_configurations: [configurationId], grants: ['authorization_code'] }
    const begun = await post('/issuance/oid4vci/new-session', body)
    const { credential_offer_uri: uri, session_id: sessionId } = (await begun.json()) as Record<string, string>
    const OFFER = uri ?? ''
    const { ended, address } = await started(`${snippetWith(PAGE, '$OFFER').trim()} --json`, { OFFER })
    await fetch(await comeBack(address, { approved: true }))
    const { status, stdout } = await ended
    expect([status, JSON.parse(stdout)]).toMatchObject([0, { credentials: [{ claims: { given_name: 'Ada' } }] }])
    const session = await fetch(`${issuer.url}/issuance/oid4vci/status/${sessionId}`, { headers })
    expect(await session.json()).toMatchObject({ status: 'SUCCEEDED' })
  })

  it('answers an offer for everybody, as any other wallet does', async () => {
    const env = { home: temporaryDirectory(), ISSUER_URL: issuer.url, CONFIGURATION: configurationId }
    const { stdout: poster } = await byShell(`${snippetWith(PAGE, 'POSTER=')}\nprintf %s "$POSTER"`, env)
    for (const name of ['Ada', 'Grace']) {
      const { ended, address } = await started(`${snippetWith(PAGE, '$OFFER').trim()} --json`, { OFFER: poster })
      await fetch(await comeBack(address, { credential_dataset: { given_name: name } }))
      const { status, stdout } = await ended
      expect([status, JSON.parse(stdout)]).toMatchObject([0, { credentials: [{ claims: { given_name: name } }] }])
    }
  })

  it.each<[string, (back: URL) => void, RegExp]>([
    ['of another issuer', (back) => back.searchParams.set('iss', 'https://attacker.example'), /\(iss\)/],
    ['of another request', (back) => back.searchParams.set('state', 'a'.repeat(43)), /\(state\)/],
  ])('gives up when the browser comes back with an answer %s, and keeps nothing', async (_, change, why) => {
    const { home, ended, address } = await started(snippetWith(PAGE, '--scope'))
    const back = await comeBack(address, dataset)
    change(back)
    await fetch(back)
    const { status, stderr } = await ended
    expect([status, stderr]).toEqual([1, expect.stringMatching(why)])
    const listed = JSON.parse((await vouchsafe(['wallet', 'list', '--json', '--home', home])).stdout) as object
    expect(listed).toMatchObject({ credentials: [] })
  })

  it('takes a batch, renews it, and has nothing to collect', async () => {
    const { home, ended, address } = await started(snippetWith(PAGE, '--scope'))
    await fetch(await comeBack(address, { ...dataset, refresh_seconds: 86_400 }))
    expect((await ended).status).toBe(0)
    const [before] = await listed(home)
    expect(before).toMatchObject({ copies: { all: 3, unseen: 3 }, renewable: true })
    const done = await byShell(snippetWith(PAGE, 'wallet renew'), { home, CREDENTIAL_ID: before?.id ?? '' })
    expect(done).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/Renewed: new keys[\s\S]*No issuer has anything to decide/) as string,
    })
    const [after, ...more] = await listed(home)
    expect([more, after]).toEqual([[], expect.objectContaining({ copies: { all: 3, unseen: 3 } })])
    expect(after?.id).not.toBe(before?.id)
    const modes = ['credentials', 'authorizations'].flatMap((folder) =>
      readdirSync(join(home, folder)).map((file) => statSync(join(home, folder, file)).mode & 0o777),
    )
    expect(modes).toEqual([0o600, 0o600])
  })

  it('says what the application says no for', async () => {
    const { ended, address } = await started(snippetWith(PAGE, '--scope'))
    await fetch(await comeBack(address, { denied: true, reason: 'Not a student.' }))
    expect(await ended).toMatchObject({ status: 1, stderr: expect.stringContaining('Not a student.') as string })
  })

  it.each<[string, readonly string[], RegExp]>([
    ['an issuer and nothing to ask for', ['--issuer', 'http://127.0.0.1'], /--configuration ID/],
    ['a scope and an id', ['--issuer', 'http://127.0.0.1', '--scope', 'a', '--configuration', 'b'], /one of/],
    ['a scope and no issuer', ['--scope', 'a'], /--issuer URL/],
    [
      'an issuer without a scheme',
      ['--issuer', 'issuer.example', '--scope', 'a'],
      /issuer\.example is not an absolute URL/,
    ],
    ['an offer beside an issuer', ['haip-vci://?a', '--issuer', 'http://127.0.0.1', '--scope', 'a'], /nothing after/],
    ['no offer', [], /takes OFFER-URI/],
  ])('refuses a command line with %s', async (_, words, why) => {
    const ended = await vouchsafe(['wallet', 'receive', ...words])
    expect([ended.status, ended.stderr]).toEqual([2, expect.stringMatching(why)])
  })
})

describe('a wallet whose provider attests it', () => {
  it('authenticates itself at both endpoints, by the name in its attestation', async () => {
    const provider = await makeProvider()
    const { issuer, ...more } = trustingProvider(provider)
    const services = await startCodeFlow(issuer, more)
    onTestFinished(() => services.close())
    await declareWithScope(services)
    const instance = await makeInstance(provider)
    const attestation = { jwt: await walletAttestation(instance, services.clock.now), key: instance.key }
    const { browser } = visitor(services)
    const ask = { credentialIssuer: ISSUER_URL, credential: { scope: SCOPE } }
    const { wallet, sent } = testWallet(services.fetch, services.clock, { openBrowser: browser, attestation })
    expect(await receiveWalletInitiated(wallet, ask)).toHaveLength(1)
    const forms = sent.filter(({ to }) => /par$|token-endpoint$/.test(to)).map(({ body }) => new URLSearchParams(body))
    expect(new Set(forms.map((form) => form.get('client_id')))).toEqual(new Set([WALLET]))
    const { wallet: stranger } = testWallet(services.fetch, services.clock, { openBrowser: browser })
    expect((await errorOf(receiveWalletInitiated(stranger, ask))).server).toMatchObject({ error: 'invalid_client' })
  })

  it('says by what names an issuer can be asked, in the words of whoever asked by another', async () => {
    const services = await startCodeFlow()
    onTestFinished(() => services.close())
    const ids = [await declareWithScope(services), await declareWithScope(services), await declare(services)]
    const { browser } = visitor(services)
    const { wallet } = testWallet(services.fetch, services.clock, { openBrowser: browser })
    const messageFor = async (credential: { scope: string } | { configurationId: string }) =>
      (await errorOf(receiveWalletInitiated(wallet, { credentialIssuer: ISSUER_URL, credential }))).message
    expect(await messageFor({ scope: 'library_card' })).toMatch(/ with the scope library_card to .*: student_card$/)
    const { length } = ids
    expect((await messageFor({ configurationId: 'x' })).split(/: |, /).slice(-length).sort()).toEqual(ids.sort())
  })
})
