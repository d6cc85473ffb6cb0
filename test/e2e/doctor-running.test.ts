/** `vouchsafe doctor` beside a running service knows the ports of this service, and warns of those of another. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Finding } from '../../src/bin/doctor/finding.ts'
import { startCommand } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { endService, type Running, serviceDirectory, start } from '../support/service-process.ts'

/** Linux alone tells whose listener has a port, also where it gives no answer. */
const isKnown = process.platform === 'linux'

/** Returns what the doctor says of the ports of an issuer. */
async function portFindings(cwd: string, ...words: readonly string[]): Promise<Pick<Finding, 'outcome' | 'text'>[]> {
  const { stdout } = await startCommand(['doctor', 'issuer', '--json', ...words], { cwd }).ended
  return (JSON.parse(stdout) as { findings: Finding[] }).findings
    .filter(({ subject }) => ['port', 'management.port'].includes(subject))
    .map(({ outcome, text }) => ({ outcome, text }))
}

describe('beside a running issuer, the doctor', () => {
  let settings: { port: number; baseUrl: string; management: { port: number; host: string } }
  let cwd: string
  let texts: { own: unknown; other: unknown }

  beforeAll(async () => {
    const port = await freePort(2)
    settings = {
      port,
      baseUrl: `http://127.0.0.1:${port}`,
      management: { port: port + 1, host: isKnown ? '127.0.0.2' : '127.0.0.1' },
    }
    cwd = await serviceDirectory('issuer', settings)
    const otherwise = 'if it is not this one, change port and baseUrl, or stop the other'
    const other = [
      { outcome: 'warning', text: `${port} is in use by a Vouchsafe issuance service; ${otherwise}` },
      { outcome: 'warning', text: `${port + 1} is in use, as is port; if that is not this service, change both` },
    ]
    const own = [port, port + 1].map((each) => ({
      outcome: 'ok',
      text: `${each} is in use by this service, which runs already`,
    }))
    texts = { own, other }
  })

  const run = async (args: readonly string[] = []): Promise<Running> => {
    const running = await start('issuer', cwd, args)
    onTestFinished(async () => {
      await endService(running, 'SIGKILL')
    })
    return running
  }

  it('knows the ports of the service of its own configuration, by whatever name', async () => {
    await run()
    expect(await portFindings(cwd)).toEqual(texts.own)
    expect(await portFindings(cwd, '--config', join(cwd, 'conf/server.json'))).toEqual(texts.own)
  })

  it.runIf(isKnown)('warns where that service gives no answer', async () => {
    const { child } = await run()
    child.kill('SIGSTOP')
    const [own, management] = await portFindings(cwd)
    const text = `${settings.port} is in use by this service, which runs already and gives no answer at 127.0.0.1 nor at baseUrl; see its log`
    expect(own).toEqual({ outcome: 'warning', text })
    expect(management?.outcome).toBe('ok')
  })

  it.runIf(isKnown)('does not take another program at its port for the service', async () => {
    const file = join(cwd, 'evilvouchsafe')
    writeFileSync(
      file,
      `require('node:net').createServer().listen(${settings.port}, '127.0.0.1', () => console.log('listening'))`,
    )
    const program = spawn(process.execPath, [file, 'issuer'], { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
    onTestFinished(() => void program.kill())
    await once(program.stdout, 'data')
    expect((await portFindings(cwd))[0]).toMatchObject({ outcome: 'problem' })
  })

  it('knows those of its workers', async () => {
    await run(['--workers', '2'])
    expect(await portFindings(cwd)).toEqual(texts.own)
  })

  it('warns of one that was started in another directory, or with another database', async () => {
    const own = JSON.parse(readFileSync(join(cwd, 'conf/server.json'), 'utf8')) as object
    writeFileSync(join(cwd, 'conf/other.json'), JSON.stringify({ ...own, database: { url: 'sqlite:other.db' } }))
    await run(['--config=conf/other.json'])
    expect(await portFindings(cwd)).toEqual(texts.other)
    expect(await portFindings(cwd, '--config', 'conf/other.json')).toEqual(texts.own)
    expect(await portFindings(await serviceDirectory('issuer', settings))).toEqual(texts.other)
  })

  it('knows one with its database on every system, and a port of metrics that it does not have', async () => {
    copyFileSync(join(cwd, 'conf/server.json'), join(cwd, 'conf/same.json'))
    const { child } = await run(['--config=conf/same.json'])
    // The process is not looked up by its start, since that names another file.
    expect(await portFindings(cwd)).toEqual(texts.own)
    const file = join(cwd, 'conf/same.json')
    const config = JSON.parse(readFileSync(file, 'utf8')) as object
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    writeFileSync(join(cwd, 'conf/moved.json'), JSON.stringify({ ...config, management: { port } }))
    expect(await portFindings(cwd, '--config', 'conf/moved.json')).toEqual([
      expect.objectContaining({ outcome: 'ok' }),
      expect.objectContaining({ outcome: 'problem' }),
    ])
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect((await portFindings(cwd)).map(({ text }) => text)).toEqual(
      [settings.port, settings.management.port].map((each) => `${each} is free`),
    )
  })
})
