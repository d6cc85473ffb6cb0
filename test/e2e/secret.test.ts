/**
 * `vouchsafe secret`, with three engines on a local chain: as a person calls it, and in this process where what is
 * tested is none.
 */
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readSharing } from '../../sdk/client/sharing-contract.ts'
import { runSecretCommand } from '../../src/bin/secret/secret.ts'
import { type EndedCommand, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { behave, forgetDeleted, type SharingEngines, startSharingEngines } from '../support/sharing-engines.ts'

const SECRET = 'correct horse battery staple\n'

let world: SharingEngines

beforeAll(async () => {
  world = await startSharingEngines(3)
})
afterAll(() => world.stop())
beforeEach(() => {
  for (const engine of world.engines) behave(engine, 'none')
})

const place = (): string[] => ['--chain', world.directory, '--contract', `0x${world.contract.slice(2)}`]
/** Runs the command as a process. */
const secretProcess = (...words: string[]): Promise<EndedCommand> => vouchsafe(['secret', ...words, ...place()])

/** In this process. */
const secret = (...words: string[]) => end(...words, ...place())
async function end(...words: string[]) {
  const { stdout, stderr, status } = await runSecretCommand(words)
  return { status, stdout: Buffer.from(stdout).toString(), stderr }
}

it('says how to name the chain where there is none', async () => {
  const words = ['--chain', '/nowhere/chain', '--contract', `0x${world.contract.slice(2)}`]
  const { stderr } = await end('status', '--id', '1', ...words)
  expect(stderr).toMatch(/^There is no chain in \/nowhere\/chain: say where it is \(--chain DIR, or --rpc URL\)/)
})

/** Writes a file with the secret. */
function secretFile(): string {
  const file = join(temporaryDirectory(), 'secret')
  writeFileSync(file, SECRET)
  return file
}

async function shared(...words: string[]): Promise<string> {
  const from = words.includes('--file') ? [] : ['--file', secretFile()]
  const { status, stdout, stderr } = await secret('put', '--json', ...from, ...words)
  expect([status, stderr]).toEqual([0, ''])
  return (JSON.parse(stdout) as { id: string }).id
}

describe('vouchsafe secret', () => {
  it('puts a secret, says how it stands, gets it back byte for byte, and deletes it', async () => {
    const said = await vouchsafe(['secret', 'put', ...place()], { input: SECRET })
    expect(said.stdout).toMatch(/^Shared; the id is \d+\n( {2}0x[0-9a-f]{40} http:\S+ holds its share\n){3}$/)
    const id = /id is (\d+)/.exec(said.stdout)?.[1] ?? ''
    const stands = await secretProcess('status', '--id', id)
    expect(stands.stdout).toMatch(/^Sharing \d+ of 0x[0-9a-f]{40}: 2 of 3 shares give the secret back\.\n/)
    expect(await secretProcess('get', '--id', id)).toEqual({ status: 0, signal: null, stdout: SECRET, stderr: '' })
    const deleting = secretProcess('delete', '--id', id, '--json')
    while (
      (await readSharing(world.chain, world.contract, BigInt(id), await world.chain.fetchHead()))?.deleting !== true
    )
      await wait(20)
    await forgetDeleted(world, BigInt(id))
    expect(JSON.parse((await deleting).stdout)).toEqual({ id, gone: true })
    expect((await secretProcess('status', '--id', id)).status).toBe(1)
  })

  it('gets it with one engine dead, and names one that gives a wrong share', async () => {
    const id = await shared()
    const [dead, wrong] = world.engines
    behave(dead, 'breaks-off')
    expect((await secret('get', '--id', id)).stdout).toBe(SECRET)
    behave(dead, 'none')
    behave(wrong, 'wrong-share')
    const { status, stdout, stderr } = await secret('get', '--id', id, '--all')
    expect([status, stdout]).toEqual([0, SECRET])
    expect(stderr).toContain(wrong?.endpoint)
    expect(stderr).toContain('not the one that was committed to')
    behave(dead, 'breaks-off')
    const failed = await secret('get', '--id', id, '--json')
    expect(failed.status).toBe(1)
    const told = JSON.parse(failed.stdout) as { error: string; engine_errors: { engine: string; code: string }[] }
    expect(told.error).toBe('too-few-shares')
    expect(new Set(told.engine_errors.map(({ engine, code }) => `${engine} ${code}`))).toEqual(
      new Set([`${dead?.address} unreachable`, `${wrong?.address} wrong-share`]),
    )
  })

  it('goes on with an upload that was interrupted', async () => {
    const file = join(temporaryDirectory(), 'pending')
    behave(world.engines[2], 'breaks-off')
    const first = await secret('put', '--file', secretFile(), '--resume', file)
    expect(first.status).toBe(1)
    expect(first.stdout).toContain('does not hold its share: engine 0x')
    expect(first.stdout).toContain(`--resume ${file}`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const other = await secret('put', '--file', secretFile(), '--resume', file, '--id', '123456')
    expect([other.status, other.stderr]).toEqual([1, expect.stringContaining('and --id says 123456')])
    expect((await secret('put', '--resume', file, '--threshold', '3')).stderr).toContain('and --threshold says 3')
    expect((await secret('put', '--resume', file, '--scheme', 'xor')).stderr).toContain('and --scheme says xor')
    const still = await secret('put', '--file', secretFile(), '--resume', file)
    expect([still.status, still.stdout]).toEqual([1, expect.stringContaining('no other secret was read')])
    for (const engine of world.engines) behave(engine, 'none')
    const second = await secret('put', '--resume', file, '--json')
    const { id, complete } = JSON.parse(second.stdout) as { id: string; complete: boolean }
    expect([second.status, complete]).toEqual([0, true])
    expect(world.engines.map(({ requests }) => requests.length)).toEqual([0, 0, 1])
    expect(() => statSync(file)).toThrow()
    expect((await secret('get', '--id', id)).stdout).toBe(SECRET)
  })

  it('reads and writes files for this user alone, with a key of its own', async () => {
    const directory = temporaryDirectory()
    const [key, from, to] = ['key', 'from', 'to'].map((name) => join(directory, name)) as [string, string, string]
    expect((await end('key', key)).stdout).toMatch(/its address is 0x[0-9a-f]{40}\./)
    expect(statSync(key).mode & 0o777).toBe(0o600)
    expect((await end('key', key)).status).toBe(1)
    writeFileSync(from, Buffer.from([0, 255, 1, 254]))
    const id = await shared('--key', key, '--file', from, '--threshold', '3', '--id', '77')
    expect(id).toBe('77')
    expect((await secret('get', '--id', id, '--key', key, '--out', to)).status).toBe(0)
    expect([...readFileSync(to)]).toEqual([0, 255, 1, 254])
    expect(statSync(to).mode & 0o777).toBe(0o600)
    const again = await secret('get', '--id', id, '--key', key, '--out', to)
    expect([again.status, again.stderr]).toEqual([1, `${to} is there already, and was left as it is.\n`])
    const somebody = await secret('get', '--id', id)
    expect(somebody.status).toBe(1)
    expect(somebody.stderr).toMatch(
      /^sharing 77 belongs to 0x[0-9a-f]{40}, and 0x[0-9a-f]{40} asks: only its owner can do that\. Without --key the command uses the key of this local chain; give the owner's with --key FILE\n$/,
    )
    const [other, none] = [join(directory, 'other'), join(directory, 'none')]
    await end('key', other)
    const another = await secret('delete', '--id', id, '--key', other)
    expect(another.stderr).toMatch(/ asks: only its owner can do that\n$/)
    const missing = await secret('get', '--id', id, '--key', none)
    expect(missing.stderr).toBe(`There is no file ${none}; a new key is made with: vouchsafe secret key FILE\n`)
  })

  it('asks for a key on a network, and for none to say how a secret stands', async () => {
    const server = createServer((request, response) => {
      void text(request).then(async (body) => {
        const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: unknown[] }
        const result = await world.rpc(method, params)
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const where = ['--rpc', `http://127.0.0.1:${port}`, '--contract', `0x${world.contract.slice(2)}`]
    const id = await shared()
    const stands = await end('status', '--id', id, ...where)
    expect([stands.stdout.slice(0, 8), stands.stderr]).toEqual(['Sharing ', ''])
    for (const word of ['get', 'delete', 'put']) {
      const { status, stderr } = await end(word, '--id', id, ...where)
      expect([status, stderr.split('\n')[0]]).toEqual([
        2,
        'on a network you act with a key of your own: give --key FILE; one is made with: vouchsafe secret key FILE',
      ])
    }
    server.close()
  })

  it('exits with 2 for a URL that has no host', async () => {
    const words = ['--contract', `0x${world.contract.slice(2)}`, '--rpc', 'http://']
    const { status, stderr } = await end('get', '--id', '1', ...words)
    expect([status, stderr]).toEqual([2, expect.stringContaining('--rpc http:// is not a URL of http or https')])
  })

  it('exits with 2 and the usage for a wrong command line', async () => {
    const { status, stderr, stdout } = await vouchsafe(['secret', 'get', '--id', '1'], { cwd: temporaryDirectory() })
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toContain('--contract ADDRESS is missing\n\nUsage:\n  vouchsafe secret key FILE [OPTIONS]\n')
  })
})
