/** A disk that is full, as `ulimit -f` makes one: what was answered is there, what cannot be kept is refused. */
import { spawn } from 'node:child_process'
import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { loadDriver } from '../../src/store/sqlite.ts'
import { COMMAND, type EndedCommand, endOf } from '../support/command.ts'
import { servicesAt } from '../support/remembering-client.ts'
import { endService, type Running, serviceDirectory, start, startOnFullDisk } from '../support/service-process.ts'
import { API_KEY, ISSUER_URL } from '../support/services.ts'
import { act, issueWithStatus } from '../support/status.ts'
import { configuration, dataset, statusOf } from '../support/wire.ts'

const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
const running: Running[] = []

afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})

describe('an issuer whose disk is full', () => {
  // Blocks of 512 bytes or of 1024: what each file of the service may have.
  it.each([
    ['the log', 4096],
    ['the log, and the file that it is moved to', 8192],
  ])('refuses what it cannot keep, lives on, and has all that it answered, with no room for %s', async (_, blocks) => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    const full = await startOnFullDisk('issuer', directory, blocks)
    running.push(full)
    expect(await statusAt(full, '/health/ready')).toBe(200)
    const id = await (await post(full, '/credential-configuration/create', configuration)).text()
    const { sessionId } = await issueWithStatus(servicesAt(() => full.url))
    const large = { credentialSubject: { ...dataset.credentialSubject, note: 'a'.repeat(20_000) } }
    const body = { credential_dataset: large, credential_configurations: [id] }
    const acknowledged: string[] = []
    const refused: { readonly status: number; readonly text: string }[] = []
    while (refused.length < 50) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => post(full, '/issuance/oid4vci/new-session', body)),
      )
      for (const answer of answers) {
        const text = await answer.text()
        if (answer.status === 200) acknowledged.push((JSON.parse(text) as { session_id: string }).session_id)
        else refused.push({ status: answer.status, text })
      }
    }
    expect(acknowledged.length).toBeGreaterThan(20)
    for (const { status, text } of refused) {
      expect([status, text]).toEqual([500, expect.stringMatching(/^\{"error":"server_error",.*internal error; /)])
    }
    expect(await statusAt(full, '/health/live')).toBe(200)
    // The service remembers a refused write for some seconds only, so that each question follows a write.
    const readyAfterWrite = async () => {
      await (await post(full, '/issuance/oid4vci/new-session', body)).arrayBuffer()
      return statusAt(full, '/health/ready')
    }
    await expect.poll(readyAfterWrite).toBe(503)
    // A revocation is small, and may find room that a session did not: then it counts, and otherwise it does not.
    const [revoked] = await act(
      servicesAt(() => full.url),
      'revoke',
      sessionId,
    )
    expect([200, 500]).toContain(revoked)
    const state = revoked === 200 ? 'REVOKED' : 'VALID'
    expect(await credentialStatus(full, sessionId)).toBe(state)
    expect(await missing(full, acknowledged)).toEqual([])
    full.child.kill('SIGKILL')
    await full.ended

    const again = await start('issuer', directory)
    running.push(again)
    expect(await missing(again, acknowledged)).toEqual([])
    expect(await credentialStatus(again, sessionId)).toBe(state)
    expect(
      await act(
        servicesAt(() => again.url),
        'revoke',
        sessionId,
      ),
    ).toMatchObject([200, {}])
    expect(await credentialStatus(again, sessionId)).toBe('REVOKED')
    expect((await post(again, '/issuance/oid4vci/new-session', body)).status).toBe(200)
  })
})

describe('a database whose disk is full', () => {
  it('is backed up to another disk, and its log stays', async () => {
    const { cwd, database } = await databaseWithLog()
    const size = () => statSync(join(cwd, 'data/issuer.db-wal')).size
    const before = size()
    const backup = await runOnFullDisk(cwd, ['db', 'backup', 'copy.db'])
    expect([backup.status, backup.stderr]).toEqual([0, expect.any(String)])
    expect(statSync(join(cwd, 'copy.db')).size).toBeGreaterThan(0)
    expect(size()).toBe(before)
    database.close()
  })

  it('is not compacted after its service was killed, and the message says what to do', async () => {
    const { cwd, database } = await databaseWithLog()
    const names = ['issuer.db', 'issuer.db-wal']
    for (const name of names) copyFileSync(join(cwd, 'data', name), join(cwd, name))
    database.close()
    for (const name of names) copyFileSync(join(cwd, name), join(cwd, 'data', name))
    const { status, stderr } = await runOnFullDisk(cwd, ['db', 'compact'])
    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/not compacted: .*disk.*; (make room|see whether the disk)/),
    ])
  })
})

/** Makes a database of an issuer whose log has changes of pages beyond what the disk of the commands can hold. */
async function databaseWithLog() {
  const cwd = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
  await endService(await start('issuer', cwd), 'SIGTERM')
  const Database = await loadDriver()
  const database = new Database(join(cwd, 'data/issuer.db'))
  // A copy of the database is small.
  database.exec('pragma wal_autocheckpoint = 0; pragma secure_delete = on; create table ballast (bytes blob)')
  for (let row = 0; row < 40; row += 1) database.exec('insert into ballast values (randomblob(200000))')
  database.exec('pragma wal_checkpoint(truncate); delete from ballast')
  return { cwd, database }
}

/** Runs a command that can write no file of more than 2 MiB. */
function runOnFullDisk(cwd: string, words: readonly string[]): Promise<EndedCommand> {
  const limited = ['-c', 'ulimit -f 4096 && exec "$0" "$@"', process.execPath, COMMAND, ...words]
  return endOf(spawn('sh', limited, { cwd, stdio: ['ignore', 'pipe', 'pipe'] }))
}

async function credentialStatus(service: Running, sessionId: string): Promise<string | undefined> {
  const status = JSON.stringify(
    await statusOf(
      servicesAt(() => service.url),
      ISSUER_URL,
      sessionId,
    ),
  )
  return /"credential_status":"(\w+)"/.exec(status)?.[1]
}

async function missing(service: Running, sessions: readonly string[]): Promise<string[]> {
  const lost: string[] = []
  for (const id of sessions) if ((await statusAt(service, `/issuance/oid4vci/status/${id}`)) !== 200) lost.push(id)
  return lost
}

function post({ url }: Running, path: string, body: unknown): Promise<Response> {
  return fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function statusAt({ url }: Running, path: string): Promise<number> {
  const response = await fetch(url + path, { headers })
  await response.arrayBuffer()
  return response.status
}
