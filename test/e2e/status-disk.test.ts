/** Revoking while the disk is full: what was acknowledged is on it in all its parts, and what was not is not. */
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashSessionId } from '../../src/audit/record.ts'
import { statusAt } from '../../src/codec/status-list.ts'
import { type IssuerCollections, issuerMigrations } from '../../src/issuer/collections.ts'
import { readBits } from '../../src/issuer/status-list/chunks.ts'
import type { CredentialStatus, StoredStatusList } from '../../src/issuer/status-rows.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { serviceDirectory, start, startOnFullDisk } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'

const COUNT = 300
const LIST: StoredStatusList = { entries: 1024, bits: 2 }
/** The block that POSIX counts for `ulimit -f`. */
const BLOCK = 512
/** Below this SQLite does not move its log into the database, so that the log is what has no room. */
const ROOM = 1024 * 1024

describe('a disk that is full', () => {
  let directory: string
  let file: string
  const children: ChildProcess[] = []
  const open = () => openSqlite<IssuerCollections>(file, issuerMigrations)
  const sessions = Array.from({ length: COUNT }, (_, index) => ({ id: `session-${index}`, index: index * 3 }))

  beforeAll(async () => {
    directory = await serviceDirectory('issuer', { port: 0 })
    mkdirSync(join(directory, 'data'))
    file = join(directory, 'data', 'issuer.db')
    const store = await open()
    await store.commit([
      { insert: 'status_list', id: 'list', value: LIST },
      ...sessions.map(({ id, index }) => {
        const value: CredentialStatus = { state: 'VALID', entries: [{ configurationId: 'c', listId: 'list', index }] }
        return { insert: 'credential_status', id, value } as const
      }),
    ])
    await store.close()
  })
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
  })

  it('loses no revocation that was acknowledged, and makes half of none', async () => {
    const service = await startOnFullDisk('issuer', directory, Math.ceil((statSync(file).size + ROOM) / BLOCK))
    children.push(service.child)
    const acknowledged = new Set<string>()
    const refused: string[] = []
    for (const { id } of sessions) {
      const response = await revoke(service.url, id)
      if (response.status === 200) acknowledged.add(id)
      else refused.push(`${response.status} ${await response.text()}`)
    }
    expect(acknowledged.size).toBeGreaterThan(5)
    expect(refused.length).toBeGreaterThan(5)
    for (const answer of refused) expect(answer).toMatch(/^500 \{"error":"server_error"/)
    // The service goes on serving what it has.
    expect((await fetch(`${service.url}/status-list/list`)).status).toBe(200)
    service.child.kill('SIGKILL')
    await service.ended

    const store = await open()
    const bits = await readBits(store, 'list', LIST)
    const waiting = (await store.list('event')).map(({ value }) => hashSessionId(value.sessionId ?? ''))
    const logged = (await store.list('audit_block')).flatMap(({ value }) => value.records.map(({ session }) => session))
    const events = [...waiting, ...logged]
    for (const { id, index } of sessions) {
      const state = (await store.get('credential_status', id))?.value.state
      const told = [state, statusAt(bits, 2, index), events.filter((each) => each === hashSessionId(id)).length]
      expect([id, ...told]).toEqual(acknowledged.has(id) ? [id, 'REVOKED', 1, 1] : [id, 'VALID', 0, 0])
    }
    await store.close()

    // With room again, the rest can be revoked.
    const again = await start('issuer', directory)
    children.push(again.child)
    for (const { id } of sessions.slice(-5)) expect((await revoke(again.url, id)).status).toBe(200)
  })

  function revoke(url: string, id: string): Promise<Response> {
    const headers = { authorization: `Bearer ${API_KEY}` }
    return fetch(`${url}/credential-status/revoke/${id}`, { method: 'POST', headers })
  }
})
