/** The command `vouchsafe wallet` against both services, with its files on disk. */
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { paint } from '../../src/bin/terminal/terminal.ts'
import { walletFiles } from '../../src/bin/wallet/files.ts'
import { runWallet } from '../../src/bin/wallet/wallet.ts'
import { removeControlCharacters } from '../../src/codec/control-characters.ts'
import { mdocConfiguration, mdocDataset, mdocQuery, OTHER_NAMESPACE } from '../support/mdoc.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { changing, withMembers } from '../support/wallet.ts'
import {
  call,
  configuration,
  dataset,
  dcqlQuery,
  declare,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

interface Ran {
  readonly out: string
  readonly err: string
  readonly exitCode: typeof process.exitCode
}

describe('vouchsafe wallet', () => {
  let services: Services
  let home: string
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'vouchsafe-wallet-'))
    vi.stubGlobal('fetch', services.fetch)
  })
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  })

  async function run(...args: string[]): Promise<Ran> {
    const written = { out: '', err: '' }
    const into = (name: 'out' | 'err') => (text: unknown) => {
      written[name] += String(text)
      return true
    }
    const spies = [
      vi.spyOn(process.stdout, 'write').mockImplementation(into('out')),
      vi.spyOn(process.stderr, 'write').mockImplementation(into('err')),
    ]
    const before = process.exitCode
    process.exitCode = undefined
    try {
      await runWallet([...args, '--home', home])
      return { ...written, exitCode: process.exitCode }
    } finally {
      process.exitCode = before
      for (const spy of spies) spy.mockRestore()
    }
  }

  async function runJson(
    ...args: string[]
  ): Promise<{ readonly json: Record<string, unknown>; readonly exitCode: Ran['exitCode'] }> {
    const { out, err, exitCode } = await run(...args, '--json')
    expect(err).toBe('')
    expect(out).toMatch(/^\{.*\}\n$/)
    return { json: JSON.parse(out) as Record<string, unknown>, exitCode }
  }

  async function received(): Promise<string> {
    const { json } = await runJson('receive', (await startIssuance(services)).link)
    return (json.credentials as { id: string }[])[0]?.id ?? ''
  }

  it('receives a credential and shows it as a card', async () => {
    const { out, err, exitCode } = await run('receive', (await startIssuance(services)).link)
    expect([err, exitCode]).toEqual(['', undefined])
    expect(out).toContain('┌ Student card')
    expect(out).toContain(`Example University (${ISSUER_URL})`)
    expect(out).toMatch(/Given name +Ada/)
    expect(out).toMatch(/address\.city +London/)
    expect(out).toMatch(/└ valid until \d{4}-\d\d-\d\d \d\d:\d\d UTC/)
  })

  it('says why it waits when the issuer has to decide first, and nothing of it to programs', async () => {
    for (const forPrograms of [false, true]) {
      const { sessionId, link } = await startIssuance(services, { credential_dataset: undefined, deferred: true })
      const decidedAtOnce = changing(services.fetch, '/credential-request', async (response) => {
        const completed = `${ISSUER_URL}/issuance/oid4vci/complete/${sessionId}`
        expect((await call(services, completed, { credential_dataset: dataset })).status).toBe(200)
        return withMembers({ interval: 1 })(response)
      })
      vi.stubGlobal('fetch', decidedAtOnce)
      const { out, err, exitCode } = await run('receive', link, ...(forPrograms ? ['--json'] : []))
      expect([err, exitCode]).toEqual(['', undefined])
      expect(/^The issuer has to decide first; .*\n┌ Student card/.test(out)).toBe(!forPrograms)
    }
  })

  it('lists what it holds, and shows one by the beginning of its id', async () => {
    expect((await run('list')).out).toContain(`vouchsafe wallet receive OFFER-URI --home ${home}\n`)
    const [first, second] = [await received(), await received()]
    const { out } = await run('list')
    expect(out.trim().split('\n')).toHaveLength(2)
    for (const id of [first, second]) expect(out).toContain(id)
    const shown = await run('show', first.slice(0, 8))
    expect(shown.out).toMatch(/○ family_name +Lovelace/)
    expect(shown.out).toContain('○ can stay hidden')
    expect(shown.out).toMatch(/^│ signed with the certificate CN=issuer\.localhost, made by itself$/m)
  })

  it('marks what cannot be hidden', async () => {
    const id = await declare(services, { ...configuration, selective_disclosure: 'none' })
    const { json } = await runJson('receive', (await startIssuance(services, { credential_configurations: [id] })).link)
    const [stored] = json.credentials as { id: string }[]
    expect((await run('show', stored?.id ?? '')).out).toMatch(/● family_name +Lovelace/)
  })

  it('names the elements of a mobile document, and their namespaces where a name is in two', async () => {
    const id = await declare(services, mdocConfiguration)
    const credential_dataset = { ...mdocDataset, [OTHER_NAMESPACE]: { height: 1.67, given_name: 'A.' } }
    const { link } = await startIssuance(services, { credential_configurations: [id], credential_dataset })
    const { out } = await run('receive', link)
    expect(out).toMatch(/^│ Family name +Lovelace$/m)
    expect(out).toMatch(/^│ age_over_18 +true$/m)
    expect(out).toMatch(/^│ driving_privileges\[0\]\.issue_date +2020-01-31$/m)
    expect(out).toMatch(/^│ given_name \(org\.iso\.18013\.5\.1\) +Ada$/m)
    expect(out).toMatch(/^│ given_name \(org\.example\.extra\) +A\.$/m)
    const asked = await startVerification(services, mdocQuery)
    expect((await run('present', asked.link, '--yes')).out).toContain(
      'shows: its type, its dates, the key it is bound to',
    )
  })

  it('presents, having said who asks, what would be seen and what would not', async () => {
    await received()
    const { sessionId, link } = await startVerification(services)
    const { out, exitCode } = await run('present', link, '--yes')
    expect(exitCode).toBeUndefined()
    const [asks = '', sees = '', hides = '', verdict = ''] = out.split(/^(?=From|and it|\n✓)/m)
    expect(asks).toMatch(/^Example Shop asks for a presentation\.\n.*CN=verifier\.localhost.*\n?.*vouches/)
    expect(sees).toMatch(/Given name +Ada/)
    expect(sees).not.toContain('family_name')
    expect(hides).toContain('family_name')
    expect(verdict).toContain('Presented, and Example Shop accepted it.')
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
  })

  it('shows all of a transaction that it would approve, and where to go on', async () => {
    await received()
    const amount = `12.00 EUR ${'and more '.repeat(30)}in the end`
    const { sessionId, link } = await startVerification(services, dcqlQuery, {
      transaction_data: [
        {
          type: 'urn:example:payment',
          credential_ids: ['card'],
          amount,
          payee: { name: 'Shop\u001b[2J' },
          '\u202eeman': 1,
        },
      ],
      redirect_uri: 'https://shop.example/done',
      request_uri_method: 'post',
    })
    const asked = await run('present', link)
    expect(asked.exitCode).toBe(1)
    process.exitCode = undefined
    const [, transaction = ''] = asked.out.split('Presenting approves')
    expect(transaction).toMatch(
      /^ the transaction urn:example:payment with Student card:\n {2}This wallet does not know the type\./,
    )
    expect(transaction.replace(/\s+/g, ' ')).toContain(`amount ${amount}`)
    expect(transaction).toMatch(/payee\.name +Shop\ufffd\[2J\n/)
    expect(transaction).toMatch(/\ufffdeman\S* +1\n/)
    expect(transaction).not.toContain('credential_ids')

    const { out } = await run('present', link, '--yes', '--approve', 'urn:example:payment')
    expect(out).toMatch(/Go on at https:\/\/shop\.example\/done\?response_code=[\w-]{32}\n/)
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
    const { link: again } = await startVerification(services, dcqlQuery, {
      transaction_data: [{ type: 'urn:example:payment', credential_ids: ['card'] }],
    })
    for (const approved of [[], ['--approve', 'urn:example:other']]) {
      const { json } = await runJson('present', again, '--yes', ...approved)
      expect([json.error, json.message]).toEqual(['not_agreed', expect.stringMatching(/--approve \S*urn:example:pay/)])
      process.exitCode = undefined
    }
    expect((await runJson('present', again, '--yes', '--approve', 'urn:example:payment')).json).toMatchObject({
      encrypted: false,
      approved: [{ by: 'card', transaction: { type: 'urn:example:payment', credential_ids: ['card'] } }],
    })
  })

  it('declines', async () => {
    const { sessionId, link } = await startVerification(services)
    expect((await run('decline', link)).out).toContain('Declined. Example Shop has been told')
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'DECLINED' })
  })

  it('plays the browser for the page of an origin', async () => {
    await received()
    const origin = 'https://shop.example'
    const uriOf = async () =>
      `${VERIFIER_URL}/presentation/oid4vp/digital-credentials/${(await startVerification(services, dcqlQuery, { origin })).sessionId}`
    const asked = await run('present', await uriOf(), '--origin', origin)
    expect(asked.out.replaceAll(/\s+/g, ' ')).toContain(
      'It is for the page of https://shop.example, as the browser says.',
    )
    const { out } = await run('present', await uriOf(), '--origin', origin, '--yes')
    expect(out).toContain('Presented, and Example Shop accepted it.')
    const { json } = await runJson('present', await uriOf(), '--origin', origin, '--yes')
    expect(json).toMatchObject({ result: 'accepted', verifier: { client_name: 'Example Shop', origin } })
    expect((await run('decline', await uriOf(), '--origin', origin)).out).toContain('Declined. Example Shop')
    const { err } = await run('present', await uriOf(), '--origin', 'https://bank.example', '--yes')
    expect(err).toContain('it is for the pages of others, and not of https://bank.example (expected_origins)')
    expect((await run('present', await uriOf())).err).toContain('say with --origin which page asks')
    const { link } = await startVerification(services)
    expect((await run('decline', link, '--origin', origin)).err).toContain('--origin goes with the digital_credentials')
  })

  it('speaks JSON to programs, and never of its keys', async () => {
    const id = await received()
    const credential = { id, name: 'Student card', issuer: ISSUER_URL, issuer_name: 'Example University' }
    const { json: list } = await runJson('list')
    expect(list).toMatchObject({ credentials: [credential], unreadable: [] })
    const { json: shown } = await runJson('show', id)
    expect(shown).toMatchObject({ ...credential, claims: dataset })
    const sha256 = expect.stringMatching(/^[\da-f]{64}$/) as string
    expect(shown.issuer_certificate).toEqual({ subject: 'CN=issuer.localhost', issuer: 'CN=issuer.localhost', sha256 })
    expect(shown.hidable).toContainEqual(['credentialSubject', 'given_name'])
    const { json: presented } = await runJson('present', (await startVerification(services)).link, '--yes')
    expect(presented).toMatchObject({
      result: 'accepted',
      verifier: { client_name: 'Example Shop', certificate_subject: 'CN=verifier.localhost' },
      credentials: { card: { id, hidden: expect.arrayContaining([['credentialSubject', 'family_name']]) as unknown } },
    })
    const { json: declined } = await runJson('decline', (await startVerification(services)).link)
    expect(declined).toMatchObject({ result: 'declined' })
    const { holder_key: key } = JSON.parse(readFileSync(fileOf(id), 'utf8')) as { holder_key: { d: string } }
    expect(key.d).toMatch(/^[\w-]{43}$/)
    for (const each of [list, shown, presented, declined]) expect(JSON.stringify(each)).not.toContain(key.d)
  })

  it.each([
    [['show', 'nothing'], 'not_found', 1],
    [['receive', 'hello'], 'invalid_link', 1],
    [['present', 'https://shop.example'], 'invalid_link', 1],
    [['present', 'haip-vp://?client_id=x509_hash:a'], 'invalid_link', 1],
    [['present', 'https://shop.example/1', '--origin', 'https://shop.example/'], 'usage', 2],
    [['present', 'https://shop.example/1', '--origin', 'shop'], 'usage', 2],
    [['steal'], 'usage', 2],
    [['show'], 'usage', 2],
    [['list', 'all'], 'usage', 2],
    [['list', '--all'], 'usage', 2],
  ])('fails as it should: %s', async (args, code, status) => {
    const { json, exitCode } = await runJson(...args)
    expect([json.error, exitCode]).toEqual([code, status])
    const { out, err } = await run(...args)
    expect(out).toBe('')
    expect(err).toContain(`✗ ${String(json.message)}`)
  })

  it('passes on what the other side said', async () => {
    const { link } = await startIssuance(services)
    await run('receive', link)
    const { json, exitCode } = await runJson('receive', link)
    expect(json).toMatchObject({ error: 'refused', server: { error: 'gone' } })
    expect(json.message).toMatch(/: the credential offer has been used; ask for a new one$/)
    expect(exitCode).toBe(1)
    const { link: request } = await startVerification(services, {
      credentials: [
        { id: 'card', format: 'jwt_vc_json-ld', meta: {}, claims: [{ path: ['credentialSubject', 'gpa'] }] },
      ],
    })
    const { out, err } = await run('present', request)
    expect(out).toContain('Example Shop asks for a presentation.')
    expect(err).toContain('✗ the request cannot be answered, and nothing was sent: card: Student card')
    expect(err).toMatch(/\): it has no credentialSubject\.gpa\. To tell the verifier: /)
    expect(err).toContain(`vouchsafe wallet decline '${request}' --home ${home}\n`)
  })

  it('asks a person, and takes only yes for yes', async () => {
    await received()
    const { sessionId, link } = await startVerification(services)
    const { err, exitCode } = await presentAnswering('n', link)
    expect(err).toContain('Present this? [y/N]')
    expect(err).toContain(`Nothing was sent. To tell the verifier: vouchsafe wallet decline '${link}' --home ${home}\n`)
    expect(exitCode).toBe(1)
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
    expect((await run('present', link, '--yes')).out).toContain('accepted it')
  })

  it('asks a person about a transaction by its type, which it does not know, and takes nothing for no', async () => {
    await received()
    const { sessionId, link } = await startVerification(services, dcqlQuery, {
      transaction_data: [{ type: 'urn:example:pay\u001b[2J', credential_ids: ['card'] }],
    })
    const { err, exitCode } = await presentAnswering('', link)
    expect(err).toContain('Present this, and approve the unknown type "urn:example:pay\ufffd[2J"? [y/N]')
    expect(exitCode).toBe(1)
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
    process.exitCode = undefined
    expect((await presentAnswering('y', link)).out).toContain('accepted it')
  })

  /** Presents at a terminal, where a person answers the question. */
  async function presentAnswering(answer: string, link: string): ReturnType<typeof run> {
    const tty = Object.getOwnPropertyDescriptor(process.stdin, 'isTTY')
    Object.defineProperty(process.stdin, 'isTTY', { value: true, configurable: true })
    try {
      const asked = run('present', link)
      await expect
        .poll(() => process.stdin.listenerCount('keypress') + process.stdin.listenerCount('data'))
        .toBeGreaterThan(0)
      process.stdin.emit('data', `${answer}\n`)
      return await asked
    } finally {
      if (tty) Object.defineProperty(process.stdin, 'isTTY', tty)
      else Reflect.deleteProperty(process.stdin, 'isTTY')
      process.stdin.pause()
    }
  }

  it('names itself with --client-id to the authorization server, and says nothing of itself otherwise', async () => {
    const forms: string[] = []
    vi.stubGlobal('fetch', (input: string, init?: RequestInit) => {
      if (init?.body instanceof URLSearchParams) forms.push(init.body.toString())
      return services.fetch(input, init)
    })
    await run('receive', (await startIssuance(services)).link, '--client-id', 'my wallet')
    await run('receive', (await startIssuance(services)).link)
    expect(forms).toEqual([expect.stringContaining('client_id=my+wallet'), expect.not.stringContaining('client_id')])
  })

  describe('with an offer that asks for a transaction code', () => {
    const offered = async () => (await startIssuance(services, { tx_code: { value: '4935', description: 'SMS' } })).link

    it('sends the one of --tx-code', async () => {
      const { out, exitCode } = await run('receive', await offered(), '--tx-code', ' 4935 ')
      expect([out, exitCode]).toEqual([expect.stringContaining('Received and kept'), undefined])
    })

    it('says what is missing and sends nothing where it cannot ask, and the code stays good', async () => {
      const link = await offered()
      const { err, exitCode } = await run('receive', link)
      expect(err).toMatch(/^✗ The issuer wants a transaction code \(4 digits\).*"SMS"\. Send it with --tx-code CODE\n$/)
      expect(exitCode).toBe(1)
      expect((await runJson('receive', link)).json).toMatchObject({ error: 'needs_tx_code' })
      expect((await runJson('receive', link, '--tx-code', '')).json).toMatchObject({ error: 'needs_tx_code' })
      expect((await runJson('receive', link, '--tx-code', '0000')).json).toMatchObject({
        error: 'refused',
        server: { error: 'invalid_grant', error_description: expect.stringContaining('transaction code') as string },
      })
      expect((await runJson('receive', link, '--tx-code', '4935')).json).toHaveProperty('credentials')
    })

    it('does not send one to an issuer that asks for none', async () => {
      const { link } = await startIssuance(services)
      expect((await runJson('receive', link, '--tx-code', '4935')).json).toHaveProperty('credentials')
    })

    it('asks a person', async () => {
      const tty = Object.getOwnPropertyDescriptor(process.stdin, 'isTTY')
      Object.defineProperty(process.stdin, 'isTTY', { value: true, configurable: true })
      try {
        const asked = run('receive', await offered())
        await expect
          .poll(() => process.stdin.listenerCount('keypress') + process.stdin.listenerCount('data'))
          .toBeGreaterThan(0)
        process.stdin.emit('data', '4935\n')
        const { out, err } = await asked
        expect(err).toContain('The issuer wants a transaction code (4 digits)')
        expect(err).toContain('Transaction code: ')
        expect(out).toContain('Received and kept')
      } finally {
        if (tty) Object.defineProperty(process.stdin, 'isTTY', tty)
        else Reflect.deleteProperty(process.stdin, 'isTTY')
        process.stdin.pause()
      }
    })
  })

  it('presents nothing where it cannot ask and nobody said --yes', async () => {
    await received()
    const { sessionId, link } = await startVerification(services)
    const { out, err, exitCode } = await run('present', link)
    expect([out, exitCode]).toEqual([expect.stringContaining('Example Shop asks for a presentation.'), 1])
    expect(err).toMatch(/^✗ Nothing was sent: .*--yes\n$/)
    const refused = await runJson('present', link)
    expect([refused.json.error, refused.exitCode]).toEqual(['not_agreed', 1])
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
    expect((await runJson('decline', link)).json).toMatchObject({ result: 'declined' })
  })

  it('explains itself', async () => {
    expect((await run()).err).toContain('receive OFFER-URI')
    expect((await run('steal')).err).toContain('there is no command wallet steal')
  })

  it('keeps its files for their owner alone, and whole', async () => {
    const id = await received()
    expect(statSync(fileOf(id)).mode & 0o777).toBe(0o600)
    expect(statSync(join(home, 'credentials')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(home, 'credentials'))).toEqual([`${id}.json`])
  })

  it('names a damaged file and shows the others', async () => {
    const [good, bad] = [await received(), await received()]
    writeFileSync(fileOf(bad), '{')
    const { out, exitCode } = await run('list')
    expect(exitCode).toBe(1)
    expect(out).toContain(good)
    expect(out).toContain(`Credential ${bad} is damaged and was left as it is`)
    expect((await runJson('show', bad)).json.error).toBe('unreadable_credential')
    await received()
    expect(readFileSync(fileOf(bad), 'utf8')).toBe('{')
  })

  it('finds its home in the environment', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'vouchsafe-wallet-'))
    vi.stubEnv('VOUCHSAFE_WALLET_HOME', elsewhere)
    const spy = vi.spyOn(process.stdout, 'write').mockImplementation(() => true)
    await runWallet(['receive', (await startIssuance(services)).link])
    spy.mockRestore()
    expect(await walletFiles(elsewhere).list()).toHaveLength(1)
  })

  it('shows what others wrote without letting it steer the terminal', async () => {
    const evil = { credentialSubject: { '\u001b[2Jname': 'red \u001b[31m\u202edlrow\u202c\nand a new line' } }
    const { out } = await run('receive', (await startIssuance(services, { credential_dataset: evil })).link)
    expect(out).toContain('dlrow')
    const line = out.replaceAll('\n', '')
    expect(removeControlCharacters(line)).toBe(line)
  })

  function fileOf(id: string): string {
    return join(home, 'credentials', `${id}.json`)
  }
})

describe('wallet files', () => {
  it('leave the old text when a write fails, and nothing beside it', async () => {
    const home = mkdtempSync(join(tmpdir(), 'vouchsafe-wallet-'))
    const store = walletFiles(home)
    expect(await store.list()).toEqual([])
    await store.write('a', 'one')
    await expect(store.write('a', { toString: 1 } as unknown as string)).rejects.toThrow()
    expect(await store.read('a')).toBe('one')
    expect(readdirSync(join(home, 'credentials'))).toEqual(['a.json'])
    await store.write('a', 'two')
    expect(await store.read('a')).toBe('two')
  })

  it('fail where no directory can be made', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-wallet-')), 'file')
    writeFileSync(file, '')
    for (const home of ['/proc/vouchsafe', file]) await expect(walletFiles(home).write('a', 'one')).rejects.toThrow()
  })

  it('do not list a write that was cut short', async () => {
    const home = mkdtempSync(join(tmpdir(), 'vouchsafe-wallet-'))
    const store = walletFiles(home)
    await store.write('a', 'one')
    writeFileSync(join(home, 'credentials', '.b.1234'), 'tw')
    writeFileSync(join(home, 'credentials', 'notes.txt'), '')
    expect(await store.list()).toEqual(['a'])
  })
})

describe('colours', () => {
  it('are for terminals whose owner did not switch them off', () => {
    expect(paint('green', 'a')).toBe('a')
    // Where stdout is not a terminal it has no such method; one that has it may still be told not to.
    Object.assign(process.stdout, { hasColors: () => true })
    expect(paint('green', 'a')).toBe('\u001b[32ma\u001b[39m')
    Object.assign(process.stdout, { hasColors: undefined })
    expect(paint('green', 'a')).toBe('a')
  })
})
