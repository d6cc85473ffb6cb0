/** The snippets in docs/server-library.md do what the page says, with the library as it is published. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { signatureHeaders } from '../src/callback/post.ts'
import type { WalletContext } from '../src/wallet/context.ts'
import { planPresentation, sendPresentation } from '../src/wallet/present.ts'
import { receiveOffer } from '../src/wallet/receive.ts'
import { authorizeUrl, SCOPE, walletAsking } from './support/code-flow.ts'
import { snippetWith } from './support/documents.ts'
import { freePort } from './support/free-port.ts'
import { type Running, serviceDirectory, start } from './support/service-process.ts'
import { API_KEY } from './support/services.ts'
import { memoryStore } from './support/wallet.ts'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/server-library.md'), 'utf8')

/** Returns the snippet of the page that has the text. */
function snippet(text: string): string {
  const code = [...page.matchAll(/```js\n([\s\S]*?)```/g)]
    .map(([, each = '']) => each)
    .find((each) => each.includes(text))
  if (code === undefined) throw new Error(`no snippet has ${text}`)
  return code
}

interface Script {
  /** Resolves with the first line that matches. */
  line(pattern: RegExp): Promise<string>
  readonly ended: Promise<number | null>
}

/** Runs a snippet as an application that has installed the package. */
function run(code: string, env: Record<string, string>): Script {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-application-'))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(root, join(directory, 'node_modules', 'vouchsafe'))
  writeFileSync(join(directory, 'application.mjs'), code)
  const child = spawn(process.execPath, ['application.mjs'], { cwd: directory, env: { ...process.env, ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return {
    ended,
    line: async (pattern) => {
      await expect.poll(() => output).toMatch(pattern)
      return pattern.exec(output)?.[0] ?? ''
    },
  }
}

/** Makes the directory of a service whose wallets reach it at its own port. */
async function directoryOf(name: 'issuer' | 'verifier'): Promise<string> {
  const port = await freePort()
  return serviceDirectory(name, { port, baseUrl: `http://127.0.0.1:${port}` })
}

/** Starts a service until the test has ended. */
async function started(name: 'issuer' | 'verifier', directory: string): Promise<Running> {
  const service = await start(name, directory)
  onTestFinished(() => void service.child.kill('SIGKILL'))
  return service
}

it('issues a credential and asks for it, each with one snippet', async () => {
  const directories = { issuer: await directoryOf('issuer'), verifier: await directoryOf('verifier') }
  copyFileSync(join(directories.issuer, 'issuer.pem'), join(directories.verifier, 'anchors', 'issuer.pem'))
  const issuer = await started('issuer', directories.issuer)
  const verifier = await started('verifier', directories.verifier)
  const wallet: WalletContext = { fetch, now: () => new Date(), random: randomBytes, store: memoryStore(new Map()) }
  const issuing = run(snippet('createIssuerClient'), { ISSUER_URL: issuer.url, ISSUER_API_KEY: API_KEY })
  await receiveOffer(wallet, await issuing.line(/haip-vci:\S+/))
  expect(await issuing.line(/SUCCEEDED|EXPIRED|Error.*/)).toBe('SUCCEEDED')
  expect(await issuing.ended).toBe(0)

  const asking = run(snippet('createVerifierClient'), { VERIFIER_URL: verifier.url, VERIFIER_API_KEY: API_KEY })
  await sendPresentation(wallet, await planPresentation(wallet, await asking.line(/haip-vp:\S+/)))
  expect(await asking.line(/^VERIFICATION_.*|Error.*/m)).toBe("VERIFICATION_SUCCEEDED { given_name: 'Ada' }")
  expect(await asking.ended).toBe(0)
})

it('completes an interaction of a wallet by the snippet of docs/authorization-code.md', {
  timeout: 600_000,
}, async () => {
  const port = await freePort()
  const settings = snippetWith('docs/authorization-code.md', '"authentication"')
  const own = { port, baseUrl: `http://127.0.0.1:${port}`, ...(JSON.parse(settings) as object) }
  const { url } = await started('issuer', await serviceDirectory('issuer', own))
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ format: 'dc+sd-jwt', vct: 'urn:example:card', scope: SCOPE })
  await fetch(`${url}/credential-configuration/create`, { method: 'POST', headers, body })
  const visited = await fetch(authorizeUrl(walletAsking().form, `${url}/auth/authorize`), { redirect: 'manual' })
  const interaction = new URL(visited.headers.get('location') ?? '').searchParams.get('interaction') ?? ''
  const [setUp = '', rest = ''] = snippetWith('docs/authorization-code.md', 'getInteraction').split('// The page')
  const code = `${setUp}const { INTERACTION: interaction } = process.env\n//${rest}\nconsole.log(redirect_uri)`
  const page = run(code, { ISSUER_URL: url, ISSUER_API_KEY: API_KEY, INTERACTION: interaction })
  const cookie = visited.headers.get('set-cookie')?.split(';')[0] ?? ''
  const returned = await fetch(await page.line(/http:\S+completion=\S+/), { redirect: 'manual', headers: { cookie } })
  expect(returned.headers.get('location')).toMatch(/^com\.example\.wallet:\/callback\?code=/)
  expect(await page.ended).toBe(0)
})

it('watches a verification to its end', async () => {
  const verifier = await started('verifier', await directoryOf('verifier'))
  const [asking = ''] = snippet('createVerifierClient').split('const { status, result }')
  const env = { VERIFIER_URL: verifier.url, VERIFIER_API_KEY: API_KEY }
  const watching = run(`${asking}\n${snippet('watchSession')}`, env)
  await watching.line(/STARTED/)
  const link = new URL(await watching.line(/haip-vp:\S+/))
  const response = await fetch(link.searchParams.get('request_uri') ?? '')
  const [, payload = ''] = (await response.text()).split('.')
  const { state, response_uri } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, string>
  const body = new URLSearchParams({ error: 'access_denied', state: state ?? '' })
  await fetch(response_uri ?? '', { method: 'POST', body })
  await watching.line(/DECLINED/)
  expect(await watching.ended).toBe(0)
})

it('is told the end of a session by a callback that is signed, and by no other', async () => {
  const secret = Buffer.alloc(32, 9)
  const code = snippet('nodeCallbackHandler').replace(
    '.listen(3000)',
    ".listen(0, function () { console.log('port', this.address().port) })",
  )
  const receiver = run(code, { CALLBACK_SECRET: `whsec_${secret.toString('base64')}` })
  const [, port = ''] = (await receiver.line(/port \d+/)).split(' ')
  const body = JSON.stringify({ id: 'e1', type: 'issuance.succeeded', data: { session_id: 'the session' } })
  const post = (headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })
  expect((await post({})).status).toBe(401)
  expect((await post(signatureHeaders('e1', new Date(), body, secret))).status).toBe(204)
  await receiver.line(/issuance\.succeeded the session/)
})
