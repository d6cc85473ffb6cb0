/** The example in examples/library-card does what its README says, when its commands are followed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { WalletContext } from '../../src/wallet/context.ts'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { vouchsafe } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { start } from '../support/service-process.ts'
import { memoryStore } from '../support/wallet.ts'

const root = join(import.meta.dirname, '../..')
const example = join(root, 'examples/library-card')
const readme = readFileSync(join(example, 'README.md'), 'utf8')

interface Config {
  port: number
  baseUrl: string
  sessionCallback?: { url: string; secret: string }
  readonly integrations: { readonly authentication: Readonly<Record<string, string>> }
}

describe('the example of a library', () => {
  const running: ChildProcess[] = []
  let library = ''
  const wallet: WalletContext = { fetch, now: () => new Date(), random: randomBytes, store: memoryStore(new Map()) }

  beforeAll(async () => {
    const home = mkdtempSync(join(tmpdir(), 'vouchsafe-library-'))
    const port = await freePort()
    library = `http://localhost:${port}`
    const environment: Record<string, string> = { PORT: String(port) }
    for (const name of ['issuer', 'verifier'] as const) {
      expect(readme).toContain(`vouchsafe.cjs init ${name} --dir try/${name}`)
      expect((await vouchsafe(['init', name, '--dir', join(home, name)])).status).toBe(0)
    }
    expect(readme).toContain('cp try/issuer/conf/issuer.pem try/verifier/conf/trust-anchors/')
    copyFileSync(join(home, 'issuer/conf/issuer.pem'), join(home, 'verifier/conf/trust-anchors/issuer.pem'))
    for (const name of ['issuer', 'verifier'] as const) {
      const config = await configure(join(home, name, 'conf/server.json'), name === 'issuer' ? port : undefined)
      const upper = name.toUpperCase()
      environment[`${upper}_URL`] = config.baseUrl
      environment[`${upper}_API_KEY`] = Object.keys(config.integrations.authentication)[0] ?? ''
      if (config.sessionCallback !== undefined) environment.CALLBACK_SECRET = config.sessionCallback.secret
      running.push((await start(name, join(home, name))).child)
    }
    running.push(await startLibrary(join(home, 'library-card'), environment))
  })
  afterAll(() => {
    for (const child of running) child.kill('SIGKILL')
  })

  const post = async (path: string, body?: object): Promise<Record<string, string>> => {
    const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    return (await (await fetch(library + path, { method: 'POST', ...json })).json()) as Record<string, string>
  }
  const get = async (path: string) => (await (await fetch(library + path)).json()) as Record<string, unknown>

  it('issues a card, hears of it, lets its holder in, and nobody once the card is lost', async () => {
    const { id = '', link = '' } = await post('/cards', { name: 'Ada' })
    await receiveOffer(wallet, link)
    await expect
      .poll(() => get(`/cards/${id}`))
      .toMatchObject({
        status: 'SUCCEEDED',
        number: '1000',
        isReceived: true,
      })
    const visit = await post('/visits')
    await sendPresentation(wallet, await planPresentation(wallet, visit.link ?? ''))
    expect(await get(`/visits/${visit.id ?? ''}`)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', name: 'Ada' })
    expect(await post(`/cards/${id}/revoke`)).toEqual({ status: 'REVOKED' })
    // The verifier keeps the status list for five seconds.
    const comeIn = async (): Promise<Record<string, unknown>> => {
      const again = await post('/visits')
      await sendPresentation(wallet, await planPresentation(wallet, again.link ?? '')).catch(() => undefined)
      return get(`/visits/${again.id ?? ''}`)
    }
    await expect.poll(comeIn, { timeout: 30_000, interval: 1000 }).toMatchObject({ status: 'VERIFICATION_FAILED' })
    const refused = await comeIn()
    expect(refused.reasons).toEqual([
      expect.stringMatching(/suspended the credential\? No: revoked by the status list .*\.$/),
    ])
    expect(refused).not.toHaveProperty('name')
  })

  it('believes no callback of others', async () => {
    const body = JSON.stringify({ id: 'a', type: 'issuance.succeeded', data: { session_id: 'x' } })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(`${library}/callbacks`, { method: 'POST', headers, body })).status).toBe(401)
  })

  it('serves its page, the script of the page and the element, which have no API key', async () => {
    for (const path of ['/', '/page.js', '/element.js']) {
      const response = await fetch(library + path)
      expect(response.status).toBe(200)
      expect(await response.text()).not.toMatch(/API_KEY/)
    }
  })
})

/** Gives the service free ports, and the issuer the callback that the README has. */
async function configure(file: string, libraryPort: number | undefined): Promise<Config> {
  const config = JSON.parse(readFileSync(file, 'utf8')) as Config
  config.port = await freePort()
  config.baseUrl = `http://localhost:${config.port}`
  if (libraryPort !== undefined) {
    const [, settings = ''] = /```json\n([\s\S]*?)```/.exec(readme) ?? []
    Object.assign(config, JSON.parse(`{${settings.replace('3000', String(libraryPort))}}`))
  }
  writeFileSync(file, JSON.stringify(config))
  return config
}

/** Starts the library in a directory of its own, as after `npm install` there. */
async function startLibrary(directory: string, environment: Record<string, string>): Promise<ChildProcess> {
  cpSync(example, directory, { recursive: true, filter: (path) => !path.includes('node_modules') })
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(root, join(directory, 'node_modules/vouchsafe'))
  symlinkSync(join(root, 'node_modules/fastify'), join(directory, 'node_modules/fastify'))
  const child = spawn(process.execPath, ['server.js'], { cwd: directory, env: { ...process.env, ...environment } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await vi.waitUntil(() => output.includes('The library is open: http://localhost:'), { timeout: 300_000 })
  return child
}
