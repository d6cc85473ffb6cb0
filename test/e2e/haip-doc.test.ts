/** The steps of docs/how-to/haip.md, as a person takes them with a browser. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { endOf, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { snippetWith } from '../support/documents.ts'
import { freePort } from '../support/free-port.ts'
import { start } from '../support/service-process.ts'
import { commandFolder, runShell } from '../support/shell.ts'

const PAGE = 'docs/how-to/haip.md'

it('leads from nothing to credentials of both kinds of visit, and to a renewal', { timeout: 600_000 }, async () => {
  const directory = temporaryDirectory()
  const cwd = join(directory, 'issuer')
  const ports = { 8079: String(await freePort()), 8078: String(await freePort()) }
  const stepWith = (text: string) => snippetWith(PAGE, text).replaceAll(/8079|8078/g, (port) => ports[port as '8079'])
  const env = { VOUCHSAFE_WALLET_HOME: join(directory, 'wallet') }

  const doctor = await runShell(stepWith('vouchsafe init issuer'), directory)
  expect(doctor).toMatch(/ok {7}profile: haip: pushed requests/)
  expect(doctor).toMatch(/warning {2}walletProviderTrustAnchors: Test Wallet Provider attests any wallet/)
  const config = join(cwd, 'conf/server.json')
  writeFileSync(config, readFileSync(config, 'utf8').replace('localhost:8078', `localhost:${ports[8078]}`))
  expect(stepWith('vouchsafe issuer\n')).toBe('vouchsafe issuer\n')
  const issuer = await start('issuer', cwd)
  onTestFinished(() => void issuer.child.kill('SIGKILL'))
  expect(await runShell(stepWith('wallet attest'), cwd, env)).toContain('Attested as vouchsafe-wallet')

  const first = running(stepWith('CONFIGURATION='), cwd, env)
  await browse(await first.address(), () => Promise.resolve(undefined))
  expect(await first.ended).toMatchObject({ status: 0, stdout: expect.stringContaining('given_name  Ada') as string })
  expect(await runShell(stepWith('wallet renew'), cwd, env)).toContain('Renewed')

  writeFileSync(join(cwd, 'portal.mjs'), stepWith('createServer'))
  const exported = stepWith('CONFIGURATION=').split('\n\n')[0] ?? ''
  const portal = running(`${exported}\n${stepWith('node portal.mjs').replace(/^node/, 'exec node')}`, cwd, env)
  const second = running(`${exported}\n${stepWith('--scope student_card')}`, cwd, env)
  const pages: string[] = []
  await browse(await second.address(), async (page) => {
    await expect
      .poll(
        () =>
          fetch(page).then(
            (response) => response.status,
            () => 0,
          ),
        { timeout: 30_000 },
      )
      .toBe(200)
    pages.push(await (await fetch(page)).text())
    const posted = await fetch(page, { method: 'POST', redirect: 'manual' })
    return posted.headers.get('location') ?? ''
  })
  expect(pages).toEqual([expect.stringContaining('Give me my student card')])
  expect(await second.ended).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('Received and kept') as string,
  })
  portal.child.kill('SIGKILL')
  const { stdout } = await vouchsafe(['wallet', 'list', '--json', '--home', env.VOUCHSAFE_WALLET_HOME])
  const { credentials } = JSON.parse(stdout) as { credentials: object[] }
  expect(credentials).toMatchObject([
    { copies: { all: 10, unseen: 10 }, renewable: true },
    { copies: { all: 10, unseen: 10 }, renewable: true },
  ])
})

interface RunningStep {
  readonly child: ChildProcess
  readonly ended: ReturnType<typeof endOf>
  /** The address that the wallet wants somebody to open. */
  readonly address: () => Promise<string>
}

/** Runs the commands of a step on a machine without a browser, where the wallet prints the address. */
function running(script: string, cwd: string, env: Record<string, string>): RunningStep {
  const path = `${commandFolder()}:${process.env.PATH ?? ''}`
  const own = { ...process.env, ...env, PATH: path, DISPLAY: '', WAYLAND_DISPLAY: '' }
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd, env: own })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const address = async () => {
    await expect.poll(() => said, { timeout: 300_000 }).toMatch(/http\S+authorize\S+\n/)
    return /http\S+authorize\S+/.exec(said)?.[0] ?? ''
  }
  return { child, ended: endOf(child), address }
}

/** Follows the redirects with the cookie of the issuer; `decide` gives where the page of the application leads. */
async function browse(address: string, decide: (page: string) => Promise<string | undefined>): Promise<void> {
  const visited = await fetch(address, { redirect: 'manual' })
  const cookie = visited.headers.get('set-cookie')?.split(';')[0] ?? ''
  const onward = visited.headers.get('location') ?? ''
  const decided = await decide(onward)
  const returned = decided && (await fetch(decided, { redirect: 'manual', headers: { cookie } }))
  const back = returned ? (returned.headers.get('location') ?? '') : onward
  expect(new URL(back).hostname).toBe('127.0.0.1')
  expect((await fetch(back)).status).toBe(200)
}
