/** A component as its author makes it: TypeScript, built and tested by the command. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sha256Hex } from '../../src/codec/digest.ts'
import { DEFAULT_LIMITS, type Runtime } from '../../src/component/runtime.ts'
import { accountOfKey } from '../../src/offchain/authentication/recover.ts'
import { signSecp256k1 } from '../../src/offchain/authentication/secp256k1.ts'
import { readComponent } from '../../src/toolchain/bundle.ts'
import { startRuntime } from '../../src/toolchain/places.ts'
import { filesBelow, temporaryDirectory, vouchsafe } from '../support/command.ts'

const ROOT = join(import.meta.dirname, '..', '..')

const COMPONENT = `import { component, json, text } from 'vouchsafe/component'
component({
  http(request, context) {
    const { path, query } = request
    if (path === '/count') {
      const counts = context.storage('counts')
      const before = counts.get('n')
      const n = before === undefined ? 1 : Number(new TextDecoder().decode(before)) + 1
      counts.set('n', String(n))
      return json(201, { n, block: context.block.number, chain: context.chainId, engine: context.engine, body: request.text() })
    }
    if (path === '/away') return text(context.fetch({ url: 'https://example.org' }).status, context.config('a') ?? 'none')
    if (path === '/throw') throw new Error('on purpose')
    if (path === '/promise') return Promise.resolve(text(200, '')) as never
    if (path === '/string') return 'text' as never
    if (path === '/who') return text(200, String(context.authenticate([context.engine])))
    if (path === '/whoever') return text(200, String(context.authenticate(request.json() as string[])))
    if (path === '/thrown') throw { code: 7 }
    if (path === '/textless') throw Object.create(null)
    if (path === '/timer') context.timers.schedule(67, 1)
    return text(404, query.x ?? request.header('X-Y') ?? '')
  },
  stateChange(context) {
    context.timers.schedule(68, 5000, context.read(Uint8Array.of(1)))
    context.log(context.timers.list() + ' ' + context.timers.status(68) + ' ' + context.random(4).length)
  },
  timers: { 68: (payload, context) => context.transact(payload, { gas: 9n }) },
  engines: () => [{ address: '0'.repeat(42), endpoint: 'https://engine' }],
})`

const SIGNED_AT = 1_700_000_000_000
const KEY = new Uint8Array(32).fill(9)
const [CONTRACT, ENGINE] = [`00${'11'.repeat(20)}`, `00${'22'.repeat(20)}`]
const SIGNER = accountOfKey(KEY, 'evm')

/** A body that names the signer in one spelling, that spelling, and the signature of a request with the body. */
const spellings = [SIGNER, SIGNER.slice(2), `0x${SIGNER.slice(2)}`, `0x${SIGNER.slice(2).toUpperCase()}`].map(
  (spelled) => {
    const body = JSON.stringify([CONTRACT, spelled])
    const request = { method: 'PUT', uri: '/whoever', body: Buffer.from(body) }
    const signer = { key: KEY, now: new Date(SIGNED_AT) }
    return [body, spelled, signSecp256k1(request, { engine: ENGINE, contract: CONTRACT }, signer)]
  },
)

const TEST = `import { test } from 'node:test'
import assert from 'node:assert/strict'
import { loadComponent } from 'vouchsafe/component-test'
const file = new URL('counter.ts', import.meta.url)
test('counts', async () => {
  const c = await loadComponent(file, { read: (input) => Uint8Array.of(input[0] ?? 0, 2), config: { a: 'b' }, fetch: () => ({ status: 203, headers: [], body: new Uint8Array(0) }) })
  const engine = '00' + '22'.repeat(20)
  assert.deepEqual((await c.http({ method: 'POST', uri: '/count', body: 'é' })).json(), { n: 1, block: 1, chain: '31337', engine, body: 'é' })
  assert.equal((await c.http({ uri: '/count' })).status, 201)
  assert.equal(Buffer.from(c.storage.get('counts', 'n')).toString(), '2')
  assert.equal((await c.http({ uri: '/?x=%41+b&x=c' })).text(), 'A b')
  assert.equal((await c.http({ uri: '/', headers: { 'x-y': 'z' } })).text(), 'z')
  assert.deepEqual([(await c.http({ uri: '/away' })).status, (await c.http({ uri: '/away' })).text()], [203, 'b'])
  assert.equal((await c.http({ uri: '/who' })).text(), 'undefined')
  await assert.rejects(c.http({ uri: '/throw' }), /on purpose/)
  await assert.rejects(c.http({ uri: '/promise' }), /asynchronous/)
  await assert.rejects(c.http({ uri: '/thrown' }), /off_chain_on_http_request threw \\{"code":7\\}, which is not an Error/)
  await assert.rejects(c.http({ uri: '/textless' }), /threw \\{\\}, which is not an Error/)
  await assert.rejects(c.http({ uri: '/timer' }), /no function runs when timer 67 is due: component\\(\\{ timers \\}\\) has timers 68/)
  await assert.rejects(c.http({ uri: '/string' }), /gave back no response/)
  await c.stateChange()
  assert.deepEqual(c.log, ['68 scheduled 4'])
  await c.advance(4999)
  assert.equal(c.transactions.length, 0)
  await c.advance(1)
  assert.deepEqual(c.transactions.map(({ payload, gas }) => [...payload, gas]), [[1, 2, 9n]])
})
test('authenticates', async () => {
  const now = new Date(${SIGNED_AT})
  const c = await loadComponent(file, { now })
  const who = async (addresses, headers = {}) => (await c.http({ method: 'PUT', uri: '/whoever', body: addresses, headers })).text()
  await assert.rejects(who('["0x12"]'), /0x12 is no address/)
  await assert.rejects(who('[null]'), /null is no address/)
  for (const [body, spelled, authorization] of ${JSON.stringify(spellings)}) assert.equal(await who(body, { authorization }), spelled)
})`

describe('vouchsafe component', () => {
  const place = (): string => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'counter.ts'), COMPONENT)
    writeFileSync(join(directory, 'counter.test.ts'), TEST)
    return directory
  }

  it('builds the same bytes wherever it is, and says their digest and hooks', async () => {
    const [one, other] = [place(), place()]
    const first = await vouchsafe(['component', 'build', 'counter.ts'], { cwd: one })
    const second = await vouchsafe(['component', 'build', join(other, 'counter.ts'), '--out', join(other, 'x.js')], {
      cwd: one,
    })
    expect([first.status, second.status, first.stderr + second.stderr]).toEqual([0, 0, ''])
    const digest = /^sha256 {2}([0-9a-f]{64})$/m
    expect(digest.exec(first.stdout)?.[1]).toBe(digest.exec(second.stdout)?.[1])
    expect(first.stdout).toContain(
      'hooks   off_chain_engines, off_chain_on_http_request, off_chain_on_state_change, off_chain_thread_44',
    )
    for (const file of [join(one, 'counter.component.js'), join(other, 'x.js')])
      expect(sha256Hex(readFileSync(file))).toBe(digest.exec(first.stdout)?.[1])
  })

  it.each(['hello', 'key-management', 'secret-sharing'])('makes what comes with it of %s', async (name) => {
    const { bytes } = await readComponent(join(ROOT, 'components', name, 'component.ts'))
    expect(Buffer.from(bytes).toString()).toBe(readFileSync(join(ROOT, 'dist', 'components', `${name}.js`), 'utf8'))
  })

  it('writes nothing that no engine would run', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'bad.ts'), 'throw new Error("not like this")')
    const { status, stderr } = await vouchsafe(['component', 'build', 'bad.ts'], { cwd: directory })
    expect(status).toBe(2)
    expect(stderr).toContain('not like this')
    expect(filesBelow(directory)).toEqual(['bad.ts'])
  })

  it('builds the same bytes beside any tsconfig.json', async () => {
    const digests = await Promise.all(
      ['{}', '{"compilerOptions":{"target":"es5","useDefineForClassFields":false,"experimentalDecorators":true}}'].map(
        async (tsconfig) => {
          const cwd = place()
          writeFileSync(join(cwd, 'tsconfig.json'), tsconfig)
          writeFileSync(join(cwd, 'counter.ts'), `class A { a = 1 }\nconsole.log(new A())\n${COMPONENT}`)
          return (await readComponent(join(cwd, 'counter.ts'))).sha256
        },
      ),
    )
    expect(digests[1]).toBe(digests[0])
  })

  let runtime: Runtime
  beforeAll(async () => {
    runtime = await startRuntime(1, DEFAULT_LIMITS)
  })
  afterAll(() => runtime.close())

  it.each([
    ['{ htpp: () => undefined }', "component() has no hook 'htpp'; its hooks are http, stateChange, timers, engines"],
    ['{ http: 5 }', 'the hook http is no function'],
    ['{ timers: { 5: true } }', 'the hook timers[5] is no function'],
    ['{ timers: { soon: () => undefined } }', "timers['soon']: the id of a timer is an integer of 32 bits"],
  ])('builds nothing of a component whose hooks are none: %s', async (hooks, message) => {
    const file = join(temporaryDirectory(), 'bad.js')
    writeFileSync(file, `import { component } from 'vouchsafe/component'\ncomponent(${hooks})`)
    await expect(runtime.describe(await readComponent(file))).rejects.toThrow(message)
  })

  it('runs the tests of a component in the sandbox, and exits as they do', async () => {
    const cwd = place()
    const { status, stdout, stderr } = await vouchsafe(['component', 'test', 'counter.test.ts'], { cwd })
    expect(stderr).toBe('')
    expect(stdout).toMatch(/counts.*pass 2.*fail 0/s)
    expect(status).toBe(0)
    writeFileSync(join(cwd, 'fails.test.ts'), "import { test } from 'node:test'\ntest('fails', () => Promise.reject())")
    expect((await vouchsafe(['component', 'test', 'fails.test.ts'], { cwd })).status).toBe(1)
  })

  it('says where it looked for what is not there', async () => {
    const cwd = place()
    const lost = join(cwd, 'lost.test.ts')
    const paths = ["'lost.ts'", "'lost.wasm'", "new URL('lost.ts', import.meta.url)"]
    const calls = paths.map((path, at) => `test('${at}', () => loadComponent(${path}))`)
    writeFileSync(
      lost,
      `import { test } from 'node:test'\nimport { loadComponent } from 'vouchsafe/component-test'\n${calls.join('\n')}`,
    )
    const { stdout } = await vouchsafe(['component', 'test', 'lost.test.ts'], { cwd })
    for (const name of ['lost.ts', 'lost.wasm'])
      expect(stdout).toContain(`There is no ${join(cwd, name)}: ${name} is relative to the working directory.`)
    expect(stdout).toContain(`There is no ${join(cwd, 'lost.ts')}.`)
    const built = await vouchsafe(['component', 'build', 'none.ts'], { cwd })
    expect(built.stderr).toBe(`There is no ${join(cwd, 'none.ts')}: none.ts is relative to the working directory.\n`)
  })

  it('says nothing that steers a terminal, whatever a message quotes', async () => {
    const { stderr } = await vouchsafe(['component', 'build', '\u001b[31mred.ts'])
    expect(stderr).toContain('\ufffd[31mred.ts')
    expect(stderr).not.toContain('\u001b')
  })

  it('says its usage', async () => {
    expect((await vouchsafe(['component', 'build'])).stderr).toContain('vouchsafe component build FILE')
  })
})
