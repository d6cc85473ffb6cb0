/** The blocks of docs/engine.md and chains.md about secrets, keys and the local chain do what the pages say. */
import { spawn } from 'node:child_process'
import { createPublicKey, verify } from 'node:crypto'
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parseAddress } from '../src/offchain/address.ts'
import { ROOT, snippetWith } from './support/documents.ts'
import { waitUntilServed } from './support/engine-process.ts'
import { runShell } from './support/shell.ts'

const ENGINE = 'docs/engine.md'
const CHAINED = { timeout: 600_000 }

/** Makes a folder like a clone in which the command was built. */
function clone(): string {
  const folder = mkdtempSync(join(tmpdir(), 'vouchsafe-clone-'))
  for (const name of ['node_modules', 'try']) mkdirSync(join(folder, name))
  symlinkSync(join(ROOT, 'dist'), join(folder, 'dist'))
  symlinkSync(ROOT, join(folder, 'node_modules/vouchsafe'))
  return folder
}

describe('three engines on one chain', () => {
  let folder = ''
  let decade = 0
  let group: number | undefined
  const urls = () => [1, 2, 3].map((each) => `http://localhost:${decade + each}`)
  beforeAll(async () => {
    folder = clone()
    decade = await freeDecade()
    const commands = snippetWith(ENGINE, 'for n in 1 2 3').replace('841$n', `${decade / 10}$n`)
    group = spawn('bash', ['-c', `${commands}\nwait`], { cwd: folder, detached: true, stdio: 'ignore' }).pid
    const answers = async () => {
      const each = await Promise.allSettled(urls().map((url) => fetch(`${url}/engine`)))
      return each.filter(({ status }) => status === 'fulfilled').length
    }
    await vi.waitUntil(async () => (await answers()) === 3, { timeout: 300_000, interval: 200 })
  })
  afterAll(() => {
    if (group !== undefined) process.kill(-group, 'SIGKILL')
  })

  /** Runs one line of a block, with the engines and the contract for what stands for them. */
  function run(line: string, address = ''): Promise<string> {
    const [first = '', second = '', third = ''] = urls()
    const named = [first, second, third].reduce((text, url) => text.replace('--engine URL', `--engine ${url}`), line)
    return runShell(named.replaceAll('ADDRESS', address), folder)
  }

  async function deployed(line: string): Promise<string> {
    return /0x[\da-f]{40}/.exec(await run(line))?.[0] ?? ''
  }

  it('keep a secret, and give it back to its owner', CHAINED, async () => {
    const [deploy = '', key = '', put = '', status = '', get = '', remove = ''] = snippetWith(
      ENGINE,
      'secret put',
    ).split('\n')
    const address = await deployed(deploy)
    await run(key)
    const engines = urls().map((url) => ({ url }))
    await waitUntilServed(engines, parseAddress(address))
    await run(put, address)
    expect(await run(status, address)).toContain('7')
    expect(await run(get, address)).toContain('the launch code')
    await run(remove, address)
    await expect(run(get, address)).rejects.toThrow()
  })

  it('sign together with a key that none of them has', CHAINED, async () => {
    const [deploy = '', create = '', call = ''] = snippetWith(ENGINE, 'createKey 1 2').split('\n')
    const owner = /0x[\da-f]{40}/.exec(await run('vouchsafe secret key try/signer.key'))?.[0] ?? ''
    const address = await deployed(deploy)
    await run(create.replace('0xad…', owner), address)
    const read = async (line: string) =>
      JSON.parse(await run(`${line} --json`, address)) as { status?: unknown; publicKey: string }
    await expect.poll(async () => String((await read(call)).status), { timeout: 100_000, interval: 3000 }).toBe('4')
    const { publicKey } = await read(call)
    const commitments = await read(call.replace('key', 'commitments'))
    const script = `
import { readFileSync } from 'node:fs'
import { createPrivateKey } from 'node:crypto'
import { engineClient, keyPackage, keySigner, parseAddress, signingEngines, signTogether } from 'vouchsafe/client'
import { chain } from './chain.mjs'
const bytes = (hex) => Uint8Array.from(Buffer.from(hex.slice(2), 'hex'))
const { d } = createPrivateKey(readFileSync('try/signer.key')).export({ format: 'jwk' })
const signer = keySigner(Uint8Array.from(Buffer.from(d, 'base64url')), 'evm')
const message = Buffer.from('pay: 12.00')
const commitments = ${JSON.stringify(commitments)}.map(bytes)
const publicKey = bytes('${publicKey}')
const client = engineClient({
  chain: await chain(), contract: parseAddress('${address}'), fetch, now: () => new Date(),
  random: (length) => crypto.getRandomValues(new Uint8Array(length)),
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
})
${snippetWith(ENGINE, 'signTogether(')}
console.log(Buffer.from(signature).toString('hex'))
process.exit(0)
`
    const node = spawn(process.execPath, [join(ROOT, 'dist/vouchsafe.cjs'), 'chain', 'serve', '--port', '0'], {
      cwd: folder,
    })
    const url = await new Promise<string>((resolve) => {
      node.stdout.on('data', (chunk: Buffer) => resolve(/http:\S+/.exec(chunk.toString())?.[0] ?? ''))
    })
    writeFileSync(
      join(folder, 'try/chain.mjs'),
      `import { nodeChain } from 'vouchsafe/client'\nexport const chain = () => nodeChain('${url}', { fetch })\n`,
    )
    writeFileSync(join(folder, 'try/sign.mjs'), script)
    const signature = Buffer.from((await runShell('node try/sign.mjs', folder)).trim(), 'hex')
    node.kill('SIGKILL')
    const x = Buffer.from(publicKey.slice(2), 'hex').toString('base64url')
    const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
    expect(verify(null, Buffer.from('pay: 12.00'), key, signature)).toBe(true)
  })
})

it('the local chain takes a contract, shows it, and is sent to and asked', CHAINED, async () => {
  const folder = clone()
  writeFileSync(join(folder, 'hello.js'), 'hello')
  const [deploy = '', ...others] = snippetWith('docs/chains.md', 'chain deploy Component').trim().split('\n')
  const engine = `0x${'12'.repeat(20)}`
  const address = /0x[\da-f]{40}/.exec(await runShell(deploy.replace('0x12…ef', engine), folder))?.[0] ?? ''
  const printed = await runShell(others.join('\n').replaceAll('0x34…', address), folder)
  expect(printed).toContain(`engine ${engine} https://engine.example`)
  expect(printed).toContain('Done, in block 2.')
})

/** Returns a number whose next three are ports that are free. */
async function freeDecade(): Promise<number> {
  for (let decade = 20_000; decade < 30_000; decade += 10) {
    const free = await Promise.all([1, 2, 3].map((each) => isFree(decade + each)))
    if (free.every(Boolean)) return decade
  }
  throw new Error('there are no three ports that are free')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, () => server.close(() => resolve(true)))
  })
}
