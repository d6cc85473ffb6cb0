import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { WalletContext } from '../../src/wallet/context.ts'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { COMMAND, filesBelow, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { memoryStore } from '../support/wallet.ts'

// Five processes start in each, and wait for each other.
vi.setConfig({ testTimeout: 600_000 })

/** The ports in a row of the issuer, of the front, of the verifier and of the university's page. */
const PORTS = 4

/** The environment of the caller: a setting of another service is not one of the demo's. */
const CALLER = { FORCE_COLOR: '', VOUCHSAFE_PORT: '65530' }

/** A directory that goes with the run of the tests, also for what several tests look at. */
const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'vouchsafe-demo-test-'))

/** Runs the demo with a directory for temporary files of its own, so that nothing is left behind unseen. */
async function demo(...args: string[]) {
  const temporary = newDirectory()
  const port = String(await freePort(PORTS))
  const all = ['demo', '--port-base', port, ...args]
  return { ...(await vouchsafe(all, { env: { TMPDIR: temporary, ...CALLER } })), left: readdirSync(temporary) }
}

describe('the home of vouchsafe demo', () => {
  /** The home of a run whose port was taken. */
  let home: string
  let port: number
  let first: Awaited<ReturnType<typeof demo>>

  beforeAll(async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, resolve))
    ;({ port } = server.address() as { port: number })
    home = join(newDirectory(), 'home')
    first = await demo('--once', '--part', 'credential', '--home', home, '--port-base', String(port))
    server.close()
  })

  /** Copies the home for one test, which changes the copy. */
  function copied(): string {
    const copy = temporaryDirectory()
    cpSync(home, copy, { recursive: true })
    return copy
  }

  it('is made also where a port is taken, which the demo says, and takes another', () => {
    expect(first).toMatchObject({ status: 0, stderr: '', left: [] })
    expect(first.stdout).toMatch(new RegExp(`issuer +http://[^ ]+ \\(port ${port} is taken\\)`))
  })

  it('is kept, and used again', async () => {
    const files = filesBelow(home)
    expect(files).toEqual(
      expect.arrayContaining([
        'issuer/conf/server.json',
        'issuer/data/issuer.db',
        'services.log',
        'verifier/conf/server.json',
      ]),
    )
    const open = files.filter((file) => (statSync(join(home, file)).mode & 0o077) !== 0)
    expect(open).toEqual([])
    const key = readFileSync(join(home, 'issuer/conf/issuer.key'), 'utf8')
    expect((await demo('--once', '--part', 'credential', '--home', home)).status).toBe(0)
    expect(readFileSync(join(home, 'issuer/conf/issuer.key'), 'utf8')).toBe(key)
    expect(readdirSync(join(home, 'wallet/credentials'))).toHaveLength(4)
  })

  it('ends the demo with 1, and says which step and why, when the verifier trusts another issuer', async () => {
    const [changed, other] = [copied(), temporaryDirectory()]
    await vouchsafe(['init', 'issuer'], { cwd: other })
    const anchors = join(changed, 'verifier/conf/trust-anchors')
    const [anchor = ''] = readdirSync(anchors)
    writeFileSync(join(anchors, anchor), readFileSync(join(other, 'conf/issuer.pem')))
    const { status, stdout, stderr } = await demo('--once', '--part', 'credential', '--home', changed)
    expect(status).toBe(1)
    expect(stdout).toContain('status: VERIFICATION_FAILED')
    expect(stdout).toMatch(/failed +Does the issuer certificate lead to a trust anchor\?/)
    expect(stdout).not.toContain('was issued, presented and verified')
    expect(stderr).toContain('The demo failed, at: The library reads the report')
    expect(stderr).toContain('issuer.trusted:')
  })

  it('ends the demo with 1 and every mistake when a configuration in it is broken', async () => {
    const changed = copied()
    const file = join(changed, 'verifier/conf/server.json')
    writeFileSync(
      file,
      JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), prot: 1, issuerTrustAnchors: 'x' }),
    )
    const { status, stderr } = await demo('--once', '--part', 'credential', '--home', changed)
    expect(status).toBe(1)
    // Lines are wrapped where the directory of temporary files has a long name.
    expect(stderr.replace(/\s+/g, ' ')).toContain(`${file} cannot be used`)
    expect(stderr).toContain('prot: unknown')
    expect(stderr).toContain('issuerTrustAnchors: ')
  })
})

describe('vouchsafe demo that stays', () => {
  let running: Running

  beforeAll(async () => {
    running = await start()
    await running.says('/sign-in?code=')
  })

  it('issues a credential, verifies it, and shows each step', () => {
    const [walk = '', rest] = running.output().split('\nNow with a wallet of your own')
    expect(rest).toContain('Both services and the engines are running.')
    const steps = walk.match(/^ +(?:GET|POST|PUT) \S+ \d+$/gm)?.map((line) => line.trim().replace(/\/[\w-]{6}…/, '/ID'))
    expect(steps).toEqual([
      'POST /credential-configuration/create 201',
      'POST /issuance/oid4vci/new-session 200',
      'GET /issuance/oid4vci/credential-offer/ID 200',
      'GET /.well-known/openid-credential-issuer/ID 200',
      'GET /.well-known/oauth-authorization-server/ID 200',
      'POST /auth/token-endpoint/ID 200',
      'POST /issuance/oid4vci/nonce/ID 200',
      'POST /issuance/oid4vci/credential-request 200',
      'POST /issuance/oid4vci/notification/ID 204',
      'GET /issuance/oid4vci/status/ID 200',
      'POST /verification-query/create 201',
      'POST /presentation/oid4vp/new-session 200',
      'GET /presentation/oid4vp/authorization-request/ID 200',
      'POST /presentation/oid4vp/authorization-response/ID 200',
      'GET /presentation/oid4vp/status/ID 200',
      'GET /.well-known/openid-credential-issuer 200',
      'GET /.well-known/oauth-authorization-server 200',
      'POST /auth/par 400',
      'POST /auth/par 201',
      'GET /auth/authorize 303',
      'GET /auth/interaction/ID 200',
      'POST /auth/interaction/complete/ID 200',
      'GET /auth/return/ID 303',
      'POST /auth/token-endpoint 200',
      'POST /issuance/oid4vci/nonce 200',
      'POST /issuance/oid4vci/credential-request 200',
      'POST /issuance/oid4vci/notification 204',
      'PUT /offchain/ID/shares/7 201',
      'GET /offchain/ID/shares/7 200',
    ])
    expect(walk).toMatch(
      /status: VERIFICATION_SUCCEEDED[\s\S]*passed {2,}Does the issuer certificate lead to a trust anchor\?/,
    )
    expect(walk.match(/^ {5}passed {2,}\S/gm)?.length).toBeGreaterThanOrEqual(22)
    const [credential = '', secret = ''] = walk.split('Three engines keep a secret')
    expect(credential).toMatch(/It was issued by\n {5}CN=.*\n?.*\(SHA-256 [\da-f]{16}…\)\n/)
    const [, known] = credential.split('The wallet asks for another card')[0]?.split('The library now knows') ?? []
    const [shown, hidden] = known?.split('and not') ?? []
    expect(shown?.trim().split(/\n +/).sort()).toEqual(['given_name: Ada', 'programme: Mathematics'])
    for (const name of ['family_name', 'birth_date', 'student_number', 'enrolled_until']) expect(hidden).toContain(name)
    expect(credential).toMatch(/The credential was issued, presented and verified\.\n+$/)
    expect(secret.match(/recovered: the vault opens at 19:84/g)).toHaveLength(2)
    expect(secret).toMatch(/wrong share from: engine B, http/)
    expect(secret).toMatch(/The secret was shared, recovered without one engine, and the liar was named\.\n+$/)
    // No colours where there is no terminal, and 80 columns for everything but links and paths.
    expect(walk).not.toContain('\u001b')
    const long = walk.split('\n').filter((line) => line.length > 80 && !/link: haip-|\/vouchsafe-/.test(line))
    expect(long).toEqual([])
  })

  it('has links that a wallet can use, and tells what became of them', async () => {
    const { fetch } = globalThis
    const wallet: WalletContext = { fetch, now: () => new Date(), random: randomBytes, store: memoryStore(new Map()) }
    const [, rest = ''] = running.output().split('Now with a wallet of your own')
    expect(rest).toMatch(/█▄▄▄▄▄▄▄█/)
    await receiveOffer(wallet, /^haip-vci:\S+$/m.exec(rest)?.[0] ?? '')
    await running.says('A wallet has received the student card.')
    await sendPresentation(wallet, await planPresentation(wallet, /^haip-vp:\S+$/m.exec(rest)?.[0] ?? ''))
    await running.says('A wallet has answered the request: VERIFICATION_SUCCEEDED')
  })

  it('ends with the link to its console, whose first page is the wallet, and which shows the engines', async () => {
    expect(running.output()).toContain('Now in your browser')
    const [, last = ''] = running.output().split('Press Ctrl-C')
    const link = /^(http:\/\/127\.0\.0\.1:\d+\/sign-in\?code=[\w-]+)\n\n$/m.exec(last)?.[1] ?? ''
    const entered = await fetch(link)
    const [, path = ''] = /url=(\/[\w-]+\/)#\/wallet"/.exec(await entered.text()) ?? []
    expect(path).not.toBe('')
    expect(entered.headers.get('content-security-policy')).toMatch(/connect-src 'self' http:\S+ http:\S+;/)
    const cookie = entered.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    const ask = async (what: string): Promise<Told> => {
      const answer = await fetch(new URL(`${path}api/${what}`, link), { headers: { cookie } })
      return (await answer.json()) as Told
    }
    const { engines = [] } = await ask('services')
    expect(engines).toHaveLength(3)
    const { contracts = [] } = await ask('engine/0/engine')
    const { calls = [] } = await ask(`engine/0/engine/contracts/${contracts[0]?.address ?? ''}`)
    expect(calls.map(({ asked }) => asked)).toContain('GET /shares/7')
  })

  it('shows calls that work as they stand there', async () => {
    const [, rest = ''] = running.output().split('Or by hand, in another terminal')
    const [byHand = ''] = rest.split('Press Ctrl-C')
    const script = byHand
      .split('\n')
      .filter((line) => line.startsWith('  '))
      .join('\n')
    expect(byHand).toContain('{"given_name":"Grace","programme":"Physics"}')
    const answers = await bash(script.replace(/^ +\/.*$/m, ''))
    expect(answers).toMatch(/"credential_offer_uri":"haip-vci:/)
    expect(answers).toMatch(/"request_uri":"haip-vp:/)
    expect(answers.match(/there is no such session/g)).toHaveLength(2)
    const certificate = /^ +(\/.*issuer\.pem)$/m.exec(byHand)?.[1] ?? ''
    expect(existsSync(certificate)).toBe(true)
  })

  it('has a page where the person is asked, which shows names that wallets give themselves as texts', async () => {
    const issuer = / issuer +(\S+)/.exec(running.output())?.[1] ?? ''
    const [, configuration = ''] = / --issuer \S+ --configuration (\S+)/.exec(running.output()) ?? []
    const asking = {
      response_type: 'code',
      client_id: '<script>x</script>',
      redirect_uri: 'https://wallet.example/cb',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      authorization_details: JSON.stringify([
        { type: 'openid_credential', credential_configuration_id: configuration, locations: [issuer] },
      ]),
    }
    const sent = await fetch(`${issuer}/auth/authorize?${new URLSearchParams(asking).toString()}`, {
      redirect: 'manual',
    })
    const page = await fetch(sent.headers.get('location') ?? '')
    expect(await page.text()).toMatch(
      /calls itself <strong>&lt;script&gt;x&lt;\/script&gt;<\/strong> [\s\S]*<code>https:\/\/wallet\.example\/cb</,
    )
    const over = await fetch(new URL('/?interaction=none', page.url))
    expect([over.status, await over.text()]).toEqual([404, expect.stringContaining('Start again in your wallet')])
  })

  it('cleans up at Ctrl-C, and ends its engines', async () => {
    expect(readdirSync(running.temporary)).toHaveLength(1)
    const urls = engineUrls(running.output())
    for (const url of urls) expect((await fetch(`${url}/health/live`)).status).toBe(200)
    expect(await running.stop('SIGINT')).toBe(0)
    expect(running.complaints()).toBe('')
    for (const url of urls) await expect(fetch(`${url}/health/live`)).rejects.toThrow()
    expect(readdirSync(running.temporary)).toEqual([])
  })
})

describe('vouchsafe demo', () => {
  it.each([
    [['--port-base', '65534']],
    [['--port-base', 'x']],
    [['--part', 'none']],
    [['--twice']],
    [['--base-url', 'http://example.com']],
    [['--base-url', 'https://example.com/path']],
  ])('refuses %j and starts nothing', async (args) => {
    const { status, stdout, left } = await demo(...args)
    expect([status, stdout, left]).toEqual([2, '', []])
  })

  it('serves wallets from elsewhere by one address, which lets nobody at what takes an API key', async () => {
    const port = await freePort(PORTS)
    const baseUrl = `http://127.0.0.1:${port + 1}`
    const running = await start('--part', 'credential', '--port-base', String(port), '--base-url', baseUrl)
    await running.says('Press Ctrl-C')
    const [, rest = ''] = running.output().split('Now with a wallet of your own')
    const offer = decodeURIComponent(/^haip-vci:\S+$/m.exec(rest)?.[0] ?? '')
    const request = decodeURIComponent(/^haip-vp:\S+$/m.exec(rest)?.[0] ?? '')
    expect([offer, request]).toEqual([expect.stringContaining(`=${baseUrl}/`), expect.stringContaining(`=${baseUrl}/`)])
    const { fetch } = globalThis
    const wallet: WalletContext = { fetch, now: () => new Date(), random: randomBytes, store: memoryStore(new Map()) }
    await receiveOffer(wallet, /^haip-vci:\S+$/m.exec(rest)?.[0] ?? '')
    await sendPresentation(wallet, await planPresentation(wallet, /^haip-vp:\S+$/m.exec(rest)?.[0] ?? ''))
    await running.says('A wallet has answered the request: VERIFICATION_SUCCEEDED')
    const key = /ISSUER_KEY=(\S+)/.exec(running.output())?.[1] ?? ''
    const headers = { authorization: `Bearer ${key}` }
    const list = '/issuance/oid4vci/sessions'
    expect((await fetch(`http://127.0.0.1:${port}${list}`, { headers })).status).toBe(200)
    expect((await fetch(baseUrl + list, { headers })).status).toBe(404)
    expect(await running.stop('SIGTERM')).toBe(0)
  })

  it('ends its engines when it has shown them', async () => {
    const { status, stdout, left } = await demo('--once', '--part', 'secret')
    expect([status, left]).toEqual([0, []])
    for (const url of engineUrls(stdout)) await expect(fetch(`${url}/health/live`)).rejects.toThrow()
  })

  it('leaves no engine behind when it is stopped while they run', async () => {
    const running = await start('--part', 'secret')
    await running.says('The owner of a secret')
    const urls = engineUrls(running.output())
    expect(await running.stop('SIGINT')).toBe(130)
    for (const url of urls) await expect(fetch(`${url}/health/live`)).rejects.toThrow()
    expect(readdirSync(running.temporary)).toEqual([])
  })

  it('leaves nothing behind when it is stopped in the middle', async () => {
    const running = await start('--part', 'credential')
    await running.says('issuer')
    expect(await running.stop('SIGINT')).toBe(130)
    expect(readdirSync(running.temporary)).toEqual([])
  })
})

describe('vouchsafe demo | head -1', () => {
  it('leaves nothing behind when nobody reads it any more', async () => {
    const temporary = newDirectory()
    const args = [COMMAND, 'demo', '--once', '--part', 'credential', '--port-base', String(await freePort(PORTS))]
    const child = spawn(process.execPath, args, {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let complaints = ''
    child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()))
    child.stdout.once('data', () => child.stdout.destroy())
    const status = await new Promise((resolve) => child.once('exit', resolve))
    expect([status, complaints, readdirSync(temporary)]).toEqual([130, '', []])
  })
})

/** The answers of the console about engines. */
interface Told {
  readonly engines?: readonly { readonly url: string }[]
  readonly contracts?: readonly { readonly address: string }[]
  readonly calls?: readonly { readonly asked?: string }[]
}

interface Running {
  readonly temporary: string
  output(): string
  complaints(): string
  /** Waits until the demo has written this. */
  says(text: string): Promise<void>
  /** The exit status. */
  stop(signal: 'SIGINT' | 'SIGTERM'): Promise<number | null>
}

const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function start(...words: string[]): Promise<Running> {
  const temporary = newDirectory()
  const port = await freePort(PORTS)
  const child = spawn(process.execPath, [COMMAND, 'demo', '--port-base', String(port), ...words], {
    env: { ...process.env, TMPDIR: temporary, ...CALLER },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let output = ''
  let complaints = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()))
  return {
    temporary,
    output: () => output,
    complaints: () => complaints,
    says: (text) =>
      until(
        child,
        () => output.includes(text),
        () => complaints || output,
      ),
    stop: (signal) =>
      new Promise((resolve) => {
        child.once('exit', resolve)
        child.kill(signal)
      }),
  }
}

/** Returns the addresses of the three engines in the output. */
function engineUrls(output: string): string[] {
  const urls = [...output.matchAll(/[ABC]\s+(http:\/\/127\.0\.0\.1:\d+)/g)].map(([, url = '']) => url)
  expect(urls).toHaveLength(3)
  return urls
}

function until(child: ChildProcess, holds: () => boolean, written: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('close', (code) => {
      reject(new Error(`it ended with ${code ?? 'a signal'}, and wrote: ${written()}`))
    })
    const look = (): void => {
      if (holds()) resolve()
      else setTimeout(look, 10)
    }
    look()
  })
}

function bash(script: string): Promise<string> {
  const child = spawn('bash', ['-euc', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return new Promise((resolve) => child.once('close', () => resolve(output)))
}
