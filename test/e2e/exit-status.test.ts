/** Every exit status that the table of commands documents, seen from a process that ends with it. */
import type { ChildProcess } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { commandEntry, commandNames } from '../../src/bin/command-table/index.ts'
import { startCommand, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { type EngineProcess, makeEngine } from '../support/engine-process.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { configuration, dcqlQuery } from '../support/wire.ts'

const GOOD = "import { component } from 'vouchsafe/component'\ncomponent({ http: () => ({ status: 200 }) })\n"

const services = ['issuer', 'verifier', 'engine'] as const

/** Words, with their status in a directory with the files below; with --json a failure is one object with an error. */
const rows: readonly (readonly [status: 0 | 1 | 2, words: string, error?: 'usage' | 'failed'])[] = [
  [2, 'issuer'],
  [2, 'verifier --config list.json'],
  [2, 'engine now'],
  [1, 'demo --once --part credential --home list.json --port-base 18079'],
  [2, 'demo --part all'],
  [0, 'init issuer --dir new'],
  [2, 'init shop'],
  [2, 'init issuer --base-url nowhere --json', 'failed'],
  [2, 'doctor issuer'],
  [2, 'console'],
  [2, 'callbacks list --service verifier --json', 'failed'],
  [2, 'callbacks forget --json', 'usage'],
  [2, 'audit export --service verifier'],
  [2, 'db backup new.db --service verifier'],
  [2, 'status-list export lists'],
  [2, 'audit verify list.json --certificate verifier.pem --json', 'failed'],
  [1, 'audit verify copy.jsonl --certificate verifier.pem'],
  [0, 'wallet list --home wallet'],
  [1, 'wallet show nothing --home wallet'],
  [2, 'wallet steal --json', 'usage'],
  [0, 'completion bash'],
  [2, 'completion'],
  [0, 'chain deploy Component --dir chain'],
  [2, 'chain show --dir nowhere --json', 'failed'],
  [0, 'component build good.js'],
  [1, 'component test failing.test.js'],
  [2, 'component build nowhere.js --json', 'failed'],
  [0, 'secret key new.key'],
  [1, 'secret key list.json'],
  [2, 'secret put --json', 'usage'],
  [2, `secret status --contract 0x${'11'.repeat(20)} --id 1 --rpc nowhere --json`, 'usage'],
  [2, `secret put --contract 0x${'11'.repeat(20)} --file list.json --max-gas-price 1.5 --json`, 'usage'],
]

function prepared(certificate: string): string {
  const cwd = temporaryDirectory()
  writeFileSync(join(cwd, 'list.json'), '[]\n')
  writeFileSync(join(cwd, 'copy.jsonl'), '{"sequence":2}\n')
  cpSync(certificate, join(cwd, 'verifier.pem'))
  writeFileSync(join(cwd, 'good.js'), GOOD)
  writeFileSync(
    join(cwd, 'failing.test.js'),
    "import test from 'node:test'\ntest('a', () => { throw new Error('no') })\n",
  )
  return cwd
}

async function makeEngineForTest(settings: Record<string, unknown>): Promise<EngineProcess> {
  const engine = await makeEngine(settings)
  onTestFinished(() => engine.remove())
  return engine
}

/** Waits until the log of a service has an event, or the service has ended. */
function said(child: ChildProcess, event: string): Promise<void> {
  let text = ''
  return new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.stdout?.on('data', (chunk: string) => {
      text += chunk
      if (text.includes(`"event":"${event}"`)) resolve()
    })
  })
}

describe('the documented exit status', () => {
  it.each(rows.map(([status, words, error]) => ({ status, words, error })))(
    '$status of $words',
    async ({ status, words, error }) => {
      const cwd = prepared(join(await serviceDirectory('verifier'), 'verifier.pem'))
      const end = await vouchsafe(words.split(' '), { cwd, input: '' })
      expect([end.status, end.stdout, end.stderr]).toEqual([status, expect.anything(), expect.anything()])
      if (error === undefined) return
      expect(JSON.parse(end.stdout)).toEqual({ error, message: expect.stringMatching(/./) as string })
      expect(end.stderr).toBe('')
    },
  )

  // events.test.ts shows the 0 of the other commands beside a verifier.
  it.each([
    [
      'issuer',
      [
        ['callbacks', 'list'],
        ['callbacks', 'retry', '--all'],
        ['audit', 'export'],
      ],
    ],
    ['verifier', []],
  ] as const)('0 of %s, of its operators’ commands and its doctor', async (service, others) => {
    const cwd = await serviceDirectory(service, { port: 0 })
    expect((await vouchsafe(['db', 'migrate', '--check', '--service', service], { cwd })).status).toBe(1)
    const { child, ended, url } = await start(service, cwd)
    const path = service === 'issuer' ? '/credential-configuration/create' : '/verification-query/create'
    const body = JSON.stringify(service === 'issuer' ? configuration : { dcql_query: dcqlQuery })
    const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
    expect((await fetch(`${url}${path}`, { method: 'POST', headers, body })).status).toBe(201)
    for (const words of [
      ...others,
      ['db', 'status'],
      ['db', 'backup', 'copy.db'],
      ['doctor'],
      ...(service === 'issuer' ? [['status-list', 'export', 'lists']] : []),
    ]) {
      const option = ['doctor', 'status-list'].includes(words[0]) ? [] : ['--service', service]
      expect([words, (await vouchsafe([...words, ...option], { cwd })).status]).toEqual([words, 0])
    }
    child.kill('SIGTERM')
    expect((await ended).status).toBe(0)
  })

  it.each(['issuer', 'verifier'] as const)('1 of %s that a second signal ends', async (service) => {
    const cwd = await serviceDirectory(service, { port: 0, stopping: { graceSeconds: 60 } })
    const { child, ended } = await start(service, cwd)
    const stopping = said(child, 'stopping')
    child.kill('SIGTERM')
    await stopping
    child.kill('SIGINT')
    expect((await ended).status).toBe(1)
  })

  it.each([
    [0, ['SIGINT']],
    [1, ['SIGTERM', 'SIGINT']],
  ] as const)('%i of an engine after %j', async (status, signals) => {
    const engine = await makeEngineForTest({ stopping: { graceSeconds: 60 } })
    await engine.start()
    const stopping = said(engine.child, 'stopping')
    engine.child.kill(signals[0])
    await stopping
    if (signals.length > 1) engine.child.kill('SIGINT')
    expect((await engine.ended).status).toBe(status)
  })

  it('0 of a console that a signal ends', async () => {
    const env = { VOUCHSAFE_ISSUER_API_KEY: 'a' }
    const { child, ended } = startCommand(['console', '--issuer', 'http://127.0.0.1:1', '--port', '0'], { env })
    await new Promise((resolve) => child.stdout?.once('data', resolve))
    child.kill('SIGTERM')
    expect((await ended).status).toBe(0)
  })

  it.each(services)('75 of %s whose database cannot be reached', async (service) => {
    const cwd = service === 'engine' ? (await makeEngineForTest({})).directory : await serviceDirectory(service)
    const env = { VOUCHSAFE_DATABASE__URL: 'postgresql://nobody:none@127.0.0.1:1/none' }
    const { status, stderr } = await vouchsafe([service], { cwd, env })
    expect(stderr).toContain('ECONNREFUSED')
    expect(status).toBe(75)
  })

  it('is seen of every command: here, or 0 of the demo in demo.test.ts', () => {
    const inProcesses = [
      ...services.flatMap((service) => [`${service} 0`, `${service} 1`, `${service} 75`]),
      'doctor 0',
    ]
    const operators = ['callbacks 0', 'audit 0', 'console 0', 'demo 0', 'db 0', 'db 1', 'status-list 0']
    const seen = new Set([
      ...rows.map(([status, words]) => `${words.split(' ')[0] ?? ''} ${status}`),
      ...inProcesses,
      ...operators,
    ])
    const documented = commandNames.flatMap((name) =>
      Object.keys(commandEntry(name).exits).map((each) => `${name} ${each}`),
    )
    expect([...seen].sort()).toEqual(documented.sort())
  })
})

describe('with --json', () => {
  it('init and component build say what they wrote', async () => {
    const cwd = temporaryDirectory()
    writeFileSync(join(cwd, 'good.js'), GOOD)
    const init = await vouchsafe(['init', 'issuer', '--json'], { cwd })
    expect(JSON.parse(init.stdout)).toMatchObject({
      service: 'issuer',
      directory: cwd,
      config: 'conf/server.json',
      files: ['conf/server.json', 'conf/issuer.key', 'conf/issuer.pem', 'conf/issuer.secrets'],
    })
    const settings = readFileSync(join(cwd, 'conf/server.json'), 'utf8')
    expect(init.stdout).not.toContain(/[0-9a-f]{64}/.exec(settings)?.[0])
    const engine = await vouchsafe(['init', 'engine', '--dir', 'engine', '--json'], { cwd })
    expect(JSON.parse(engine.stdout)).toMatchObject({
      service: 'engine',
      address: expect.stringMatching(/^0x/) as string,
    })
    const built = JSON.parse((await vouchsafe(['component', 'build', 'good.js', '--json'], { cwd })).stdout) as object
    expect(built).toMatchObject({ file: 'good.component.js', kind: 'javascript', hooks: ['off_chain_on_http_request'] })
  })
})

it.each([
  [{ FORCE_COLOR: '1' }, true],
  [{ FORCE_COLOR: '' }, false],
])('colours in a pipe with %j: %s', async (env, expected) => {
  const { stdout } = await vouchsafe(['--help'], { env: { NO_COLOR: '', ...env } })
  expect(stdout.includes('\u001b[1m')).toBe(expected)
})
