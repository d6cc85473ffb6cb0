/**
 * A service moves from SQLite to PostgreSQL and back: everything is there, nothing is given out twice, and offers stay
 * good.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { copyDatabase } from '../../src/bin/db/copy.ts'
import { COMMAND, endOf, startCommand } from '../support/command.ts'
import { snippetWith } from '../support/documents.ts'
import { faults, longFault } from '../support/faults.ts'
import { startedSession, tokenOf } from '../support/issuance.ts'
import { inStatusLists } from '../support/restored.ts'
import { endService, serviceDirectory, startForTest } from '../support/service-process.ts'
import { ISSUER_URL, type Services } from '../support/services.ts'
import { runShell } from '../support/shell.ts'
import { freshUrl } from '../support/store.ts'

function useDatabase(directory: string, url: string): void {
  const file = join(directory, 'conf', 'server.json')
  const settings = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...settings, database: { url } }))
}

const db = (cwd: string, ...words: readonly string[]) => startCommand(['db', ...words], { cwd }).ended

async function copied(cwd: string, from: string, to: string): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await db(cwd, 'copy', '--from', from, '--to', to, '--json')
  expect([status, stderr, status === 0 || stdout]).toEqual([0, '', true])
  return JSON.parse(stdout) as Record<string, unknown>
}

/** Makes a copy that ends when most tables are there, and the last ones are not. */
async function cutOff(from: string, to: string): Promise<void> {
  const root = join(import.meta.dirname, '..', '..')
  const script = ['build/run.js', 'test/support/cut-off-copy.ts', from, to, 'status_list']
  const { status, stderr } = await endOf(
    spawn(process.execPath, script, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] }),
  )
  expect([status, stderr]).toEqual([9, ''])
}

describe('vouchsafe db copy', () => {
  it('moves a service to PostgreSQL and back, with its offers and status lists', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    let service = await startForTest('issuer', directory)
    const lists = inStatusLists(() => service.url)
    const fetchThere = (address: string, init?: RequestInit) => fetch(address.replace(ISSUER_URL, service.url), init)
    const services = { fetch: fetchThere, clock: { now: new Date() } } as unknown as Services
    const early = await lists.issue(3)
    const offers = [await startedSession(services), await startedSession(services)]
    const url = freshUrl()
    const used = await db(directory, 'copy', '--from', 'sqlite:data/issuer.db', '--to', url)
    expect([used.status, used.stderr]).toEqual([2, expect.stringMatching(/another process has the database open/)])
    await endService(service, 'SIGTERM')

    const copying = snippetWith('docs/operating.md', 'vouchsafe db copy')
    expect(await runShell(copying, directory, { POSTGRESQL: url })).toMatch(/has all of data\/issuer\.db: \d\d+ rows/)
    useDatabase(directory, url)
    service = await startForTest('issuer', directory)
    await lists.issue(3)
    await tokenOf(offers[0] as (typeof offers)[number])
    await endService(service, 'SIGTERM')

    useDatabase(directory, 'sqlite:data/second.db')
    await copied(directory, url, 'sqlite:data/second.db')
    service = await startForTest('issuer', directory)
    await lists.issue(3)
    await tokenOf(offers[1] as (typeof offers)[number])
    lists.expectNoneTwice()
    await lists.expectServed(early)
    expect((await endService(service, 'SIGTERM')).stdout).not.toMatch(/database_restored|open_sessions_voided/)
  })

  it.each(faults(['postgresql', 'sqlite']))(
    'goes on where it was cut off, and until then no service starts on it: %s',
    async (kind) => {
      const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
      let service = await startForTest('issuer', directory)
      const lists = inStatusLists(() => service.url)
      await lists.issue(12)
      await endService(service, 'SIGTERM')
      const source = `sqlite:${join(directory, 'data/issuer.db')}`
      const target = kind === 'sqlite' ? `sqlite:${join(directory, 'data/target.db')}` : freshUrl()
      await cutOff(source, target)
      useDatabase(directory, target)
      const refused = await startCommand(['issuer'], { cwd: directory }).ended
      expect([refused.status, refused.stderr]).toEqual([
        2,
        expect.stringMatching(/copy into the database has not ended/),
      ])
      expect((await db(directory, 'status')).stdout).toMatch(/a copy into the database has not ended/)

      const elsewhere = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
      await endService(await startForTest('issuer', elsewhere), 'SIGTERM')
      const foreign = await db(
        directory,
        'copy',
        '--from',
        `sqlite:${join(elsewhere, 'data/issuer.db')}`,
        '--to',
        target,
      )
      expect([foreign.status, foreign.stderr]).toEqual([
        2,
        expect.stringMatching(/another database into it has not ended/),
      ])

      const first = await copied(directory, source, target)
      const again = await db(directory, 'copy', '--from', source, '--to', target)
      expect([again.status, again.stderr]).toEqual([2, expect.stringMatching(/not empty/)])
      expect(await copied(directory, source, `sqlite:${join(directory, 'data/whole.db')}`)).toMatchObject({
        digest: first.digest,
        tables: first.tables,
      })
      service = await startForTest('issuer', directory)
      await lists.issue(2)
      lists.expectNoneTwice()
    },
  )

  longFault('refuses a source on which a service started meanwhile, and leaves the copy unusable', async () => {
    const [url, target] = [freshUrl(), freshUrl()]
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL, database: { url } })
    const service = await startForTest('issuer', directory)
    await inStatusLists(() => service.url).issue(1)
    await endService(service, 'SIGTERM')
    const other = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    let status: number | null | undefined
    const startOnce = (): void => {
      // The source is being read meanwhile. The service uses its database, and ends since its port is taken.
      const env = { ...process.env, VOUCHSAFE_HOST: '127.0.0.1', VOUCHSAFE_PORT: String(port) }
      status ??= spawnSync(process.execPath, [COMMAND, 'issuer'], { cwd: directory, env }).status
    }
    await expect(copyDatabase({ from: url, to: target }, startOnce)).rejects.toThrow(
      /a service started on .* during the copy; stop it, empty the target, and copy again/,
    )
    expect(status).toBe(75)
    useDatabase(directory, target)
    expect((await startCommand(['issuer'], { cwd: directory }).ended).status).toBe(2)
  })

  longFault('says when the rows of both differ, and leaves the copy unusable', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    let service = await startForTest('issuer', directory)
    const lists = inStatusLists(() => service.url)
    await lists.issue(2)
    await endService(service, 'SIGTERM')
    const source = `sqlite:${join(directory, 'data/issuer.db')}`
    const target = freshUrl()
    await cutOff(source, target)
    // The operator started the service once more in between.
    service = await startForTest('issuer', directory)
    await lists.issue(1)
    await endService(service, 'SIGTERM')
    const { status, stderr } = await db(directory, 'copy', '--from', source, '--to', target)
    expect([status, stderr]).toEqual([2, expect.stringMatching(/rows of both differ.*empty the target/)])
    useDatabase(directory, target)
    expect((await startCommand(['issuer'], { cwd: directory }).ended).status).toBe(2)
  })
})
