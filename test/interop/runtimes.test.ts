/** `vouchsafe/server` in Deno, Bun and Workers: the bundle of the package calls an issuer that runs as a process. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signatureHeaders } from '../../src/callback/post.ts'
import { temporaryDirectory } from '../support/command.ts'
import { hasRuntimes, type Runtime, runIn } from '../support/runtimes.ts'
import { type Running, serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'

const ROOT = join(import.meta.dirname, '..', '..')

let issuer: Running
beforeAll(async () => {
  issuer = await start('issuer', await serviceDirectory('issuer', { port: 0 }))
})
afterAll(async () => {
  issuer.child.kill('SIGKILL')
  await issuer.ended
})

/** Writes a program of an application: what it does with a session, with a callback, and with an error. */
function programFor(url: string): string {
  const secret = randomBytes(32)
  const body = JSON.stringify({
    id: 'msg_1',
    type: 'issuance.succeeded',
    timestamp: new Date().toISOString(),
    data: { session_id: 'a', status: 'SUCCEEDED' },
  })
  const headers = signatureHeaders('msg_1', new Date(), body, secret)
  return `import { callbackHandler, createIssuerClient, readCallback, ServiceError } from './dist/sdk/server.js'

export default async function program() {
  const issuer = createIssuerClient({ url: ${JSON.stringify(url)}, apiKey: ${JSON.stringify(API_KEY)} })
  const configuration = await issuer.createConfiguration({ format: 'dc+sd-jwt', vct: 'https://a.example/card' })
  const { session_id: id } = await issuer.startSession({
    credential_configurations: [configuration],
    credential_dataset: { given_name: 'Ada' },
  })
  const { status } = await issuer.getSession(id)
  const listed = []
  for await (const { session_id } of issuer.listSessions({ credential_configuration_id: configuration })) listed.push(session_id === id)
  const watched = []
  for await (const session of issuer.watchSession(id)) {
    watched.push(session.status)
    break
  }
  const keys = { secret: ${JSON.stringify(secret.toString('base64'))} }
  const [headers, body] = [${JSON.stringify(headers)}, ${JSON.stringify(body)}]
  const received = []
  const handle = callbackHandler(keys, ({ type }) => { received.push(type) })
  const answer = await handle(new Request('https://app.example/', { method: 'POST', headers, body }))
  const forged = await readCallback({ headers: new Headers(headers), body: body.replace('SUCC', 'FAIL') }, keys)
  const refusal = await issuer.getSession('nothing').catch((error) => error instanceof ServiceError && error.code)
  const nobody = createIssuerClient({ url: 'http://127.0.0.1:1', apiKey: 'a', timeoutMilliseconds: 100 })
  const unreached = await nobody.getSession('planted-session').catch((error) => error)
  const told = [unreached.message, unreached.cause?.message, unreached.cause?.cause?.message].join(' ')
  return { status, listed, watched, received, answer: answer.status, forged: forged ?? null, refusal, leaks: told.includes('planted') }
}
`
}

if (!hasRuntimes) process.stderr.write('\nDeno, Bun and Workers are tried on Linux with x64 alone: NOT TRIED HERE.\n\n')

describe.runIf(hasRuntimes)('vouchsafe/server', () => {
  it.each<Runtime>(['deno', 'bun', 'workerd'])(
    'starts, lists and watches a session, and is told of it, in %s',
    async (runtime) => {
      const { outputFiles } = await build({
        stdin: { contents: programFor(issuer.url), resolveDir: ROOT },
        ...{ bundle: true, write: false, format: 'esm', platform: 'neutral', logLevel: 'silent' },
      })
      expect(await runIn(runtime, outputFiles[0]?.text ?? '', temporaryDirectory())).toEqual({
        status: 'STARTED',
        listed: [true],
        watched: ['STARTED'],
        received: ['issuance.succeeded'],
        answer: 204,
        forged: null,
        refusal: 'not_found',
        leaks: false,
      })
    },
  )
})

describe('the package', () => {
  it('is packed so that publint and attw find nothing', () => {
    const directory = temporaryDirectory()
    // `npm run check` checks the types, which are only written here.
    for (const project of ['sdk', 'sdk/element']) {
      execFileSync('node', ['node_modules/typescript/bin/tsc', '--noCheck', '-p', project], { cwd: ROOT })
    }
    execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', directory], { cwd: ROOT, stdio: 'pipe' })
    const [, file = ''] = /(\S+\.tgz)/.exec(execFileSync('ls', [directory], { encoding: 'utf8' })) ?? []
    const bin = join(ROOT, 'test/interop/node_modules/.bin')
    const packed = join(directory, file)
    const env = { ...process.env, NO_COLOR: '1' }
    const lint = execFileSync(join(bin, 'publint'), ['--strict', packed], { encoding: 'utf8', env })
    expect(lint).toContain('All good!')
    // The package is of ES modules alone, which Node 20.19 and later can also require.
    const types = JSON.parse(
      execFileSync(join(bin, 'attw'), ['--profile', 'esm-only', '--format', 'json', packed], { encoding: 'utf8', env }),
    ) as { readonly analysis: { readonly problems: readonly { readonly resolutionKind?: string }[] } }
    const { problems } = types.analysis
    expect(problems.filter(({ resolutionKind }) => !/^node10$|^node16-cjs$/.test(resolutionKind ?? ''))).toEqual([])
  })
})
