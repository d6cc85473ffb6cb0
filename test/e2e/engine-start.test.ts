/** An engine that cannot start says which file or address is in the way, and what to do about it. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadDriver } from '../../src/store/sqlite.ts'
import { COMMAND, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { type EngineProcess, makeEngine } from '../support/engine-process.ts'
import { freePort } from '../support/free-port.ts'
import { serviceDirectory } from '../support/service-process.ts'

const engines: EngineProcess[] = []
afterAll(() => Promise.all(engines.map((engine) => engine.remove())))

async function made(settings: Record<string, unknown> = {}): Promise<EngineProcess> {
  const engine = await makeEngine(settings)
  engines.push(engine)
  return engine
}

/** Sets settings in the configuration of an engine, and returns its file. */
function changeSettings(directory: string, changes: object): string {
  const file = join(directory, 'conf/server.json')
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...changes }))
  return file
}

describe('vouchsafe engine', () => {
  /** An engine that runs before and after each test. */
  let first: EngineProcess
  let managementPort: number
  beforeAll(async () => {
    managementPort = await freePort()
    first = await made({ management: { port: managementPort } })
    await first.start()
  })

  it('says who has its port, and what to change', async () => {
    const port = Number(new URL(first.url).port)
    const who = 'is in use by a Vouchsafe execution engine'
    const { directory } = await made()
    changeSettings(directory, { port })
    const second = await vouchsafe(['engine'], { cwd: directory })
    expect(second.stderr).toContain(
      `  - port: ${port} (host 127.0.0.1) ${who}; stop that one, or change port and baseUrl\n`,
    )
    const third = await vouchsafe(['engine'], { cwd: (await made({ management: { port } })).directory })
    expect(third.stderr).toContain(
      `  - management.port: ${port} (host 127.0.0.1) ${who}; stop that one, or change management.port\n`,
    )
    expect([second.status, third.status]).toEqual([75, 75])
  })

  it('does not start beside one on the same database, and starts as soon as that one has ended, however it ended', async () => {
    const file = changeSettings(first.directory, { port: await freePort(), management: { port: await freePort() } })
    const second = await vouchsafe(['engine'], { cwd: first.directory })
    expect([second.status, second.stderr]).toEqual([
      75,
      expect.stringMatching(
        /^not started now; start again later:\n {2}- database\.url: .*engine\.db is in use by another process of an engine; stop it first/,
      ),
    ])
    expect((await vouchsafe(['db', 'status', '--config', file], { cwd: first.directory })).status).toBe(0)
    changeSettings(first.directory, { management: { port: managementPort } })
    await first.kill('SIGKILL')
    await first.start()
    expect((await first.kill('SIGTERM')).status).toBe(0)
    await first.start()
  })

  it('does not start on the database of another chain, and starts when the chain is back', async () => {
    const engine = await made()
    await engine.start()
    expect((await engine.kill('SIGTERM')).status).toBe(0)
    const [chain, kept] = ['data/chain', 'data/kept'].map((name) => join(engine.directory, name)) as [string, string]
    renameSync(chain, kept)
    const mistake =
      /chain\.directory: this is the chain \d+, and the database .*engine\.db is of an engine on the chain \d+; name that chain here, or another database in database\.url/
    const refused = await vouchsafe(['engine'], { cwd: engine.directory })
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringMatching(mistake)])
    const doctor = await vouchsafe(['doctor', 'engine', '--json'], { cwd: engine.directory })
    expect([doctor.status, doctor.stdout]).toEqual([
      2,
      expect.stringMatching(/this is the chain \d+, and the database/),
    ])
    rmSync(chain, { recursive: true })
    renameSync(kept, chain)
    await engine.start()
    expect((await engine.kill('SIGTERM')).status).toBe(0)
    // A database of before has no chain, and takes that of its next start.
    const database = new (await loadDriver())(join(engine.directory, 'data/engine.db'))
    database.exec("drop table chain; delete from migration where id = 'engine-0003'")
    database.close()
    expect((await vouchsafe(['doctor', 'engine', '--json'], { cwd: engine.directory })).stdout).toMatch(
      /chain \d+ answers/,
    )
    await engine.start()
    expect((await engine.kill('SIGTERM')).status).toBe(0)
    rmSync(chain, { recursive: true })
    expect((await vouchsafe(['engine'], { cwd: engine.directory })).status).toBe(2)
  })

  it('says that a configuration is that of another service', async () => {
    const { directory } = await made()
    const issuer = await vouchsafe(['issuer'], { cwd: directory })
    expect([issuer.status, issuer.stderr]).toEqual([
      2,
      expect.stringContaining("  - configuration: this is an engine's configuration, and not the issuer's; use: "),
    ])
    const engine = await vouchsafe(['engine'], {
      cwd: await serviceDirectory('verifier', { issuerIdentifier: 'match' }),
    })
    expect([engine.status, engine.stderr]).toEqual([
      2,
      expect.stringContaining("  - configuration: this is a verifier's configuration, and not the engine's; use: "),
    ])
    const log = await vouchsafe(['audit', 'export'], { cwd: directory })
    expect([log.status, log.stderr]).toEqual([2, expect.stringMatching(/is an engine's configuration; name one of/)])
  })

  it('has its metrics at the port of its management alone', async () => {
    const metrics = await fetch(`http://127.0.0.1:${managementPort}/metrics`)
    const text = await metrics.text()
    expect([metrics.status, text]).toEqual([200, expect.stringContaining('vouchsafe_engine_limit{')])
    for (const name of [
      'vouchsafe_engine_log_lines_dropped_total 0',
      'nodejs_eventloop_lag_p99_seconds',
      'process_cpu_',
    ]) {
      expect(text).toContain(name)
    }
    expect(text).toMatch(/\nvouchsafe_engine_ready [01]\n/)
    expect((await fetch(`${first.url}/metrics`)).status).toBe(404)
  })

  it('says where it looked for its configuration, and how to make one', async () => {
    const cwd = temporaryDirectory()
    const how = `it is looked for in ${join(cwd, 'conf')}; make one with: node ${COMMAND} init`
    expect((await vouchsafe(['engine'], { cwd })).stderr).toContain(`${how} engine\n`)
    expect((await vouchsafe(['issuer'], { cwd })).stderr).toContain(`${how} issuer\n`)
    const doctor = await vouchsafe(['doctor', 'engine', '--json'], { cwd })
    expect(doctor.stdout).toContain(`${how} engine"`)
    expect((await vouchsafe(['doctor', '--json'], { cwd })).stdout).toContain(`${how} issuer (or verifier, or engine)"`)
  })

  it('says where it looked for its key', async () => {
    const { directory } = await made()
    rmSync(join(directory, 'conf/engine.key'))
    const { stderr } = await vouchsafe(['engine'], { cwd: directory })
    expect(stderr).toContain(
      '  - identity.keyFile: there is no such file: conf/engine.key; bring it back from a backup',
    )
    expect(stderr).toContain(`paths are relative to the working directory (${directory})\n`)
  })
})
