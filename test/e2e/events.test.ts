/**
 * Events of the command's own processes: nothing of them is lost when one is killed, two share the work, and what they
 * leave is seen and mended by `vouchsafe callbacks` and `vouchsafe audit`.
 */
import { constants } from 'node:buffer'
import { createPrivateKey } from 'node:crypto'
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { writeCheckpoint } from '../../src/audit/checkpoint.ts'
import { chainRecords, LOG_START_TYPE, ORIGIN, writeRecord } from '../../src/audit/record.ts'
import { runAudit } from '../../src/bin/audit/audit.ts'
import { runCallbacks } from '../../src/bin/callbacks/callbacks.ts'
import { openDatabase } from '../../src/bin/effects.ts'
import {
  type CallbackCollections,
  deletionTimeOf,
  type PendingCallback,
  type PendingCallbacks,
} from '../../src/callback/queue.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import { loadDriver } from '../../src/store/sqlite.ts'
import { verifierMigrations } from '../../src/verifier/collections.ts'
import { startCommand, vouchsafe } from '../support/command.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { endService, type Running, serviceDirectory, startForTest } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { dcqlQuery } from '../support/wire.ts'

const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
/** The length of a file that no text holds. */
const TOO_LONG = constants.MAX_STRING_LENGTH + 1
const secret = Buffer.alloc(32, 7).toString('base64')
function directoryFor({ url }: Pick<Receiver, 'url'>): Promise<string> {
  return serviceDirectory('verifier', { port: 0, sessionCallback: { url, secret } })
}

async function post(url: string, body: unknown): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Starts sessions that their holder declines. */
async function declined({ url }: Running, count: number): Promise<readonly string[]> {
  const id = await (await post(`${url}/verification-query/create`, { dcql_query: dcqlQuery })).text()
  return Promise.all(
    Array.from({ length: count }, async () => {
      const response = await post(`${url}/presentation/oid4vp/new-session`, { verification_query_id: id })
      const { session_id: session } = (await response.json()) as { session_id: string }
      const request = await (await fetch(`${url}/presentation/oid4vp/authorization-request/${session}`)).text()
      const { state } = JSON.parse(Buffer.from(request.split('.')[1] ?? '', 'base64url').toString()) as {
        state: string
      }
      const form = new URLSearchParams({ error: 'access_denied', state })
      const answer = await fetch(`${url}/presentation/oid4vp/authorization-response/${session}`, {
        method: 'POST',
        body: form,
      })
      expect(answer.status).toBe(200)
      return session
    }),
  )
}

async function openVerifierFile(directory: string) {
  const database = new (await loadDriver())(join(directory, 'data', 'verifier.db'))
  database.exec('pragma busy_timeout = 5000')
  return database
}

async function sql(directory: string, text: string): Promise<void> {
  const database = await openVerifierFile(directory)
  database.exec(text)
  database.close()
}

async function countRows(directory: string, table: string): Promise<number> {
  const database = await openVerifierFile(directory)
  const [row] = database.prepare(`select count(*) as count from ${table}`).all() as { readonly count: number }[]
  database.close()
  return Number(row?.count)
}

describe('a service that is killed', () => {
  it('between what it answered and the callback, loses none, and what goes out twice has one id', async () => {
    // The process is in the middle of a delivery that will not be answered, when it ends.
    let well = false
    const receiver = await startReceiver((_posted, response) => {
      if (well) response.writeHead(204).end()
    })
    const directory = await directoryFor(receiver)
    const first = await startForTest('verifier', directory)
    const sessions = [...(await declined(first, 12))]
    await receiver.whenPosted(1)
    sessions.push(...(await declined(first, 12)))
    await endService(first, 'SIGKILL')
    well = true
    const before = receiver.posted.length
    // The claims of the process that died are over.
    await sql(directory, 'update callback set due_at = 0')
    await startForTest('verifier', directory)
    while (new Set(receiver.posted.slice(before).map(({ event }) => event.data.session_id)).size < 24) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const again = receiver.posted.slice(before)
    expect(again.map(({ event }) => event.data.session_id).sort()).toEqual(sessions.sort())
    const idOf = new Map(again.map(({ event }) => [event.data.session_id, event.id]))
    for (const { event } of receiver.posted.slice(0, before)) expect(event.id).toBe(idOf.get(event.data.session_id))
    expect(new Set(idOf.values()).size).toBe(24)
  })
})

describe('two processes on one database', () => {
  it('deliver each event once and make one audit log, which is signed when they stop', async () => {
    const receiver = await startReceiver()
    const directory = await directoryFor(receiver)
    const both = [await startForTest('verifier', directory), await startForTest('verifier', directory)] as const
    const sessions = (await Promise.all(both.map((each) => declined(each, 20)))).flat()
    await receiver.whenPosted(40)
    const ends = [await endService(both[0], 'SIGTERM'), await endService(both[1], 'SIGTERM')]
    expect(ends.map(({ status }) => status)).toEqual([0, 0])
    expect(receiver.posted.map(({ event }) => event.data.session_id).sort()).toEqual(sessions.sort())

    const copy = join(directory, 'copy.jsonl')
    const exported = await vouchsafe(['audit', 'export', '--service', 'verifier'], { cwd: directory })
    expect([exported.status, exported.stderr]).toEqual([0, ''])
    writeFileSync(copy, exported.stdout)
    for (const session of sessions) expect(exported.stdout).not.toContain(session)
    const verify = (...args: string[]) =>
      vouchsafe(['audit', 'verify', copy, '--certificate', 'verifier.pem', ...args], { cwd: directory })
    const whole = await verify()
    // The query twice, each session started and declined, and that the log was started.
    expect([whole.status, whole.stdout, whole.stderr]).toEqual([
      0,
      expect.stringMatching(/copy\.jsonl is intact: 83 records, \d+ checkpoints?\.\n/),
      '',
    ])

    // The log of the service is a second witness.
    const log = join(directory, 'service.log')
    writeFileSync(log, ends.map(({ stdout }) => stdout).join(''))
    expect(readFileSync(log, 'utf8')).toContain('"audit_checkpoint"')
    expect((await verify('--checkpoint', log)).status).toBe(0)
    const lines = exported.stdout.trimEnd().split('\n')
    const firstSigned = lines.findIndex((line) => line.startsWith('{"checkpoint"'))
    writeFileSync(copy, `${lines.slice(0, Math.min(firstSigned, 50)).join('\n')}\n`)
    const report = await verify('--checkpoint', log, '--json')
    expect([report.status, JSON.parse(report.stdout)]).toEqual([
      2,
      expect.objectContaining({ intact: false, problems: [], vouched_for: expect.any(Number) as number }),
    ])
  })
})

describe('a service whose receiver does not answer', () => {
  it('stops all the same, with 0, and its audit log is exported', async () => {
    const receiver = await startReceiver(() => undefined)
    const directory = await directoryFor(receiver)
    const service = await startForTest('verifier', directory)
    await declined(service, 1)
    await receiver.whenPosted(1)
    const { status, stdout } = await endService(service, 'SIGTERM')
    expect([status, stdout.includes('"event":"stopped"'), stdout.includes('stopping_hard')]).toEqual([0, true, false])
    // The attempt was broken off, and not waited for: nothing is known of it.
    const listed = await vouchsafe(['callbacks', 'list', '--json', '--service', 'verifier'], { cwd: directory })
    const waiting = JSON.parse(listed.stdout) as { failures?: number }[]
    expect(waiting.map(({ failures }) => failures)).toEqual([undefined])
    // The export ends quietly where its reader has seen enough, as `head` has.
    const { child, ended } = startCommand(['audit', 'export', '--service', 'verifier'], { cwd: directory })
    child.stdout?.destroy()
    expect(await ended).toMatchObject({ status: 0, stderr: '' })
  })
})

describe('vouchsafe callbacks', () => {
  const callbacks = (directory: string, ...args: string[]) => vouchsafe(['callbacks', ...args], { cwd: directory })

  it('lists what waits and what is dead, without session ids, and has it sent again', async () => {
    let well = false
    const receiver = await startReceiver((_posted, response) => response.writeHead(well ? 204 : 500).end())
    const directory = await directoryFor(receiver)
    const service = await startForTest('verifier', directory)
    const sessions = await declined(service, 2)
    await receiver.whenPosted(2)
    await endService(service, 'SIGTERM')

    const listed = await callbacks(directory, 'list', '--json', '--service', 'verifier')
    const waiting = JSON.parse(listed.stdout) as { id: string }[]
    expect(waiting).toHaveLength(2)
    expect(waiting[0]).toMatchObject({
      type: 'verification.declined',
      state: 'pending',
      failures: expect.any(Number) as number,
      problem: 'the receiver answered 500',
      next: expect.stringMatching(/^20/) as string,
    })
    const ids = waiting.map(({ id }) => id)
    const dead = await callbacks(directory, 'list', '--dead', '--service', 'verifier')
    expect(dead.stdout).toBe('Nothing is dead.\n')
    expect(ids.sort()).toEqual([...new Set(receiver.posted.map(({ event }) => event.id))].sort())
    for (const session of [...sessions, secret]) expect(listed.stdout).not.toContain(session)

    // A day later the next failure is the last.
    await sql(directory, `update callback set value = json_replace(value, '$.events[0].queuedAt', 0), due_at = 0`)
    const second = await startForTest('verifier', directory)
    await expect.poll(() => countRows(directory, 'dead_callback')).toBe(2)
    const died = await callbacks(directory, 'list', '--dead', '--service', 'verifier')
    for (const id of ids) expect(died.stdout).toContain(id)
    well = true
    const before = receiver.posted.length
    const one = await callbacks(directory, 'retry', ids[0] ?? '', '--service', 'verifier')
    expect([one.status, one.stdout]).toEqual([0, 'It is tried again at once.\n'])
    await receiver.whenPosted(before + 1)
    const rest = await callbacks(directory, 'retry', '--all', '--service', 'verifier')
    expect([rest.status, rest.stdout]).toEqual([0, '1 tried again at once, by the service that runs.\n'])
    await receiver.whenPosted(before + 2)
    expect(receiver.posted.slice(before).map(({ event }) => event.id)).toEqual(ids)
    await endService(second, 'SIGTERM')
    const empty = await callbacks(directory, 'list', '--service', 'verifier')
    expect([empty.status, empty.stdout]).toEqual([0, 'Nothing waits, and nothing is dead.\n'])
    const log = await vouchsafe(['audit', 'export', '--service', 'verifier'], { cwd: directory })
    const records = log.stdout.split('\n').filter((line) => line.includes('"callback.redelivered"'))
    const subjects = records.map((line) => [
      (JSON.parse(line) as { subject: string }).subject,
      line.includes('"caller"'),
    ])
    expect(subjects).toEqual(ids.map((id) => [id, false]))
  })

  describe('on a database with many events', () => {
    const at = 1_700_000_000_000
    const eventsOf = (name: string, count: number): PendingCallbacks => {
      const eventOf = (index: number): PendingCallback => ({
        id: `${name}-${String(index).padStart(4, '0')}`,
        type: 'verification.declined',
        at: at + index,
        queuedAt: at + index,
      })
      return [eventOf(0), ...Array.from({ length: count - 1 }, (_, index) => eventOf(index + 1))]
    }

    /** Makes a database that no service runs on. */
    async function directoryWith(queues: readonly PendingCallbacks[], dead: readonly PendingCallback[] = []) {
      const directory = await serviceDirectory('verifier')
      const changes = [
        ...queues.map((events, index) => ({
          ...{ insert: 'callback' as const, id: `session-${index}`, createdAt: new Date(at) },
          ...{ value: { events, failures: 1, claimed: false, nextAt: at + index }, dueAt: new Date(at + index) },
        })),
        ...dead.map((event) => ({
          ...{ insert: 'dead_callback' as const, id: event.id, createdAt: new Date(event.at) },
          ...{ value: { sessionId: 'dead', event, problem: 'x', diedAt: event.at }, dueAt: new Date(event.at) },
        })),
      ]
      const store = await storeOf(directory)
      await store.commit(changes)
      await store.close()
      return directory
    }

    function storeOf(directory: string) {
      mkdirSync(join(directory, 'data'), { recursive: true })
      const file = join(directory, 'data', 'verifier.db')
      return openDatabase<CallbackCollections>({ kind: 'sqlite', file }, verifierMigrations)
    }

    it('says that there are more than it lists only where there are', async () => {
      const list = async (directory: string) =>
        (await callbacks(directory, 'list', '--service', 'verifier')).stdout.trimEnd().split('\n')
      const all = await list(await directoryWith([eventsOf('one', 1001)]))
      expect([all.length, all.at(-1)]).toEqual([1001, expect.stringMatching(/^one-1000 .*pending$/)])
      const some = await list(await directoryWith(eventsOf('many', 1001).map((event) => [event])))
      expect([some.length, some.at(-1)]).toEqual([1002, expect.stringMatching(/^There are more: /)])
    })

    it('finds each, and hastens all, those of a session in their order', async () => {
      const dead = eventsOf('dead', 150)
      const directory = await directoryWith(
        eventsOf('waiting', 150).map((event) => [event]),
        dead,
      )
      for (const id of ['waiting-0149', 'dead-0000']) {
        const one = await callbacks(directory, 'retry', id, '--service', 'verifier')
        expect([one.status, one.stdout]).toEqual([0, 'It is tried again at once.\n'])
      }
      const rest = await callbacks(directory, 'retry', '--all', '--service', 'verifier')
      expect([rest.status, rest.stdout]).toEqual([0, '300 tried again at once, by the service that runs.\n'])
      const store = await storeOf(directory)
      const queued = (await store.get('callback', 'dead'))?.value.events.map(({ id }) => id)
      expect(queued).toEqual(dead.map(({ id }) => id))
      await store.close()
    })

    it('has sent again also what a clock that was ahead gave up', async () => {
      const directory = await directoryWith([], eventsOf('dead', 2))
      const store = await storeOf(directory)
      const [event] = eventsOf('later', 1)
      const value = { sessionId: 'later', event, problem: 'x', diedAt: Date.now() + 3_600_000 }
      const dueAt = deletionTimeOf(value)
      await store.commit([{ insert: 'dead_callback', id: event.id, value, dueAt, createdAt: new Date(value.diedAt) }])
      await store.close()
      const { stdout } = await callbacks(directory, 'retry', '--all', '--service', 'verifier')
      expect(stdout).toBe('3 tried again at once, by the service that runs.\n')
      expect(await countRows(directory, 'dead_callback')).toBe(0)
    })

    it('says with 2 of an id that nothing has, also of one like an option, that there is no such event', async () => {
      const id = `-${'a'.repeat(21)}`
      const directory = await directoryWith([eventsOf('one', 1)])
      const unknown = await callbacks(directory, 'retry', id, '--service', 'verifier')
      expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringMatching(`no event ${id}`)])
    })

    it('goes on beside rows that cannot be read, and says that there are some', async () => {
      const waiting = eventsOf('waiting', 3).map((event): PendingCallbacks => [event])
      const directory = await directoryWith(waiting, eventsOf('dead', 2))
      await sql(directory, `update callback set value = '{"x' where id = 'session-2'`)
      await sql(directory, `update dead_callback set value = '{"x' where id = 'dead-0000'`)
      const listed = await callbacks(directory, 'list', '--json', '--service', 'verifier')
      const ids = (JSON.parse(listed.stdout) as { id: string }[]).map(({ id }) => id)
      expect(ids).toEqual(['waiting-0000', 'waiting-0001', 'dead-0001'])
      expect(listed.stderr).toMatch(/^2 rows cannot be read/)
      const one = await callbacks(directory, 'retry', 'waiting-0000', '--service', 'verifier')
      expect([one.status, one.stdout]).toEqual([0, 'It is tried again at once.\n'])
      const all = await callbacks(directory, 'retry', '--all', '--service', 'verifier')
      expect([all.status, all.stdout]).toEqual([0, '3 tried again at once, by the service that runs.\n'])
    })
  })

  it('refuses with 2 what it does not understand, and makes no database', async () => {
    const directory = await serviceDirectory('verifier')
    writeFileSync(join(directory, 'any.json'), '{}')
    for (const [args, why] of [
      [['list', '--config', 'any.json'], /^any\.json does not tell .*: --service issuer, or --service verifier\n$/],
      [['list', '--service', 'verifier'], /there is no such database/],
      [['forget'], /Usage/],
    ] as const) {
      const end = await callbacks(directory, ...args)
      expect([args, end.status, end.stdout]).toEqual([args, 2, ''])
      expect(end.stderr).toMatch(why)
    }
  })

  it.each([
    [['list', '--service', 'shop'], /say issuer or verifier/],
    [['list', '--service', 'verifier', '--config', '/nowhere.json'], /cannot be read/],
    [['retry', '--service', 'verifier'], /Usage/],
    [['retry', 'a', '--all'], /Usage/],
  ])('refuses the words %j', async (words, why) => {
    await expect(runCallbacks(words)).rejects.toThrow(why)
  })
})

describe('vouchsafe audit', () => {
  const audit = (directory: string, ...args: string[]) => vouchsafe(['audit', ...args], { cwd: directory })

  it('finds checkpoints in a log stream of any length', async () => {
    const directory = await serviceDirectory('verifier')
    // The file takes no room on the disk.
    const log = join(directory, 'service.log')
    writeFileSync(log, '')
    truncateSync(log, TOO_LONG)
    const header = Buffer.from('{"typ":"vouchsafe-audit-checkpoint+jwt"}').toString('base64url')
    appendFileSync(log, `\n{"checkpoint":"${header}.e30.AAAA"}\n`)
    writeFileSync(join(directory, 'copy'), '{"sequence":1}\n')
    const end = await audit(directory, 'verify', 'copy', '--certificate', 'verifier.pem', '--checkpoint', log)
    expect([end.status, end.stdout, end.stderr]).toEqual([1, expect.stringMatching(/^copy is not intact/), ''])
  })

  it('shows no control character of the name of a copy', async () => {
    const directory = await serviceDirectory('verifier')
    writeFileSync(join(directory, 'co\u001b[2Jpy'), '{"sequence":1}\n')
    const end = await audit(directory, 'verify', 'co\u001b[2Jpy', '--certificate', 'verifier.pem')
    expect([end.status, end.stdout]).toEqual([1, expect.stringMatching(/^co\ufffd\[2Jpy is not intact:\n {2}- /)])
  })

  it('refuses with 2 what it cannot read', async () => {
    const directory = await serviceDirectory('verifier')
    cpSync(join(directory, 'verifier.pem'), join(directory, 'copy'))
    writeFileSync(join(directory, 'empty'), '')
    writeFileSync(join(directory, 'long'), 'no record\n'.repeat(1000))
    for (const [args, why] of [
      [
        ['verify', 'copy', '--certificate', 'verifier.pem'],
        /^copy: no record of an audit log is in its first lines; .*$/m,
      ],
      [['export', '--service', 'verifier'], /there is no such database/],
    ] as const) {
      const end = await audit(directory, ...args)
      expect([args, end.status, end.stdout]).toEqual([args, 2, ''])
      expect(end.stderr).toMatch(why)
    }
    // The command is the same in this process, by whole paths.
    for (const [words, why] of [
      ['copy', /^--certificate is missing/],
      ['nowhere --certificate verifier.pem', /nowhere: it cannot be read/],
      ['copy --certificate nowhere', /nowhere: it cannot be read: there is no such file$/],
      ['copy --certificate verifier.key', /verifier\.key/],
      ['copy --certificate verifier.pem --checkpoint copy', /there is no checkpoint/],
      ['empty --certificate verifier.pem', /empty: no record of an audit log/],
      ['long --certificate verifier.pem', /long: no record of an audit log/],
      ['copy --certificate verifier.pem --checkpoint .', /: it cannot be read: EISDIR/],
      ['. --certificate verifier.pem', /: it cannot be read: EISDIR/],
    ] as const) {
      const paths = words.split(' ').map((word) => (word.startsWith('--') ? word : join(directory, word)))
      await expect(runAudit(['verify', ...paths]), words).rejects.toThrow(why)
    }
    await expect(runAudit([])).rejects.toThrow(/Usage/)
  })

  it('says what is wrong with a copy that was written anew, and with one that was emptied', async () => {
    const directory = await serviceDirectory('verifier')
    const write = (name: string, text: string) => writeFileSync(join(directory, name), text)
    const [key, at] = [createPrivateKey(readFileSync(join(directory, 'verifier.key'))), '2026-05-01T08:00:00.000Z']
    const records = chainRecords(ORIGIN, [{ at, type: LOG_START_TYPE, subject: 'log-1' }])
    const { hash = '' } = records[0] ?? {}
    const checkpoint = await writeCheckpoint(createSigner(key, []), { log: 'log-1', sequence: 1, hash, at })
    const copy = [...records.map(writeRecord), JSON.stringify({ checkpoint })]
    write('kept', checkpoint)
    write('spaced', copy.map((line) => `  ${line}\n`).join(''))
    write('empty', '')
    const verify = (...words: string[]) => audit(directory, 'verify', ...words, '--certificate', 'verifier.pem')
    const spaced = await verify('spaced')
    expect([spaced.status, spaced.stdout]).toEqual([
      1,
      expect.stringMatching(/line 1: .*; keep copies byte for byte$/m),
    ])
    const emptied = await verify('empty', '--checkpoint', 'kept')
    expect([emptied.status, emptied.stdout]).toEqual([
      2,
      expect.stringMatching(/cannot tell.*\n.*record 1 was signed at .*is missing/),
    ])
  })

  it('says with 2 that half a gigabyte without a line is not a copy', async () => {
    const directory = await serviceDirectory('verifier')
    const copy = join(directory, 'copy')
    writeFileSync(copy, '')
    // The file takes no room on the disk.
    truncateSync(copy, TOO_LONG)
    const end = await audit(directory, 'verify', 'copy', '--certificate', 'verifier.pem')
    expect([end.status, end.stderr]).toEqual([2, expect.stringMatching(/^copy: no record of/)])
    rmSync(copy)
  })
})
