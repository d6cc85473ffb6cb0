/**
 * An engine, as a process of its own, whose database is PostgreSQL: what it took outlives a kill, is encrypted, and is
 * taken once.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { sha256 } from '@noble/hashes/sha2.js'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { readSharing, sharingMethods } from '../../sdk/client/sharing-contract.ts'
import { keySigner } from '../../sdk/client/signers.ts'
import { transact } from '../../src/bin/chain/transactions.ts'
import { type StatementRunner, withConnection } from '../../src/store/postgres-connections.ts'
import { PROCESS_LOCK } from '../../src/store/postgres-lock.ts'
import { vouchsafe } from '../support/command.ts'
import { deployComponent, place, send } from '../support/engine-contracts.ts'
import {
  type EngineProcess,
  eventually,
  makeDirectory,
  makeEngine,
  waitUntilServed,
} from '../support/engine-process.ts'
import { freePort } from '../support/free-port.ts'
import { freshUrl, postgresOf } from '../support/store.ts'

const SHARING = join(import.meta.dirname, '..', '..', 'dist', 'components', 'secret-sharing.js')
const STARTS_MS = 600_000
const dir = makeDirectory('chain')
const url = freshUrl()
let engine: EngineProcess

beforeAll(async () => {
  const chain = { type: 'local', directory: dir }
  engine = await makeEngine({ chain, database: { url }, pollMilliseconds: 100 })
  await engine.start()
}, STARTS_MS)
afterAll(async () => {
  await engine.remove()
  rmSync(join(dir, '..'), { recursive: true })
})

/** Returns every row of every table of the engine, as text. */
function everything(): Promise<string> {
  return withConnection(postgresOf(url), async (run) => {
    const schema = new URL(url).searchParams.get('currentSchema') ?? ''
    const text = 'select table_name from information_schema.tables where table_schema = $1'
    const { rows: tables } = await run({ text, values: [schema] })
    const all: string[] = []
    for (const { table_name: table } of tables as readonly { readonly table_name: string }[]) {
      const { rows } = await run({ text: `select t::text from ${schema}."${table}" t`, values: [] })
      all.push(table, JSON.stringify(rows))
    }
    return all.join('\n')
  })
}

it(
  'keeps a share over a kill, encrypted, and takes no signed request twice',
  async () => {
    const at = await place({ dir })
    // The other engine is nothing but an account that says it has its share.
    const other = await place({ dir })
    const listed = [engine, { address: other.chain.createAccount(other.readAccountKey()).address, url: '' }]
    const contract = await deployComponent(at, 'SecretSharing', SHARING, listed)
    await waitUntilServed([engine], contract)
    const share = Buffer.from(`a share that nobody is to read ${randomBytes(16).toString('hex')}`)
    await transact(at, contract, sharingMethods.registerSharing(7n, 2, [sha256(share), sha256(randomBytes(32))]))
    const signer = keySigner(at.readAccountKey(), 'evm')
    const recipient = { engine: engine.address, contract, chain: at.chain }
    /** Signed once; sent as often as it is called. */
    const signed = async (method: string, body: Buffer) => {
      const data = { method, uri: '/shares/7', headers: [], body }
      const authorization = await signer.authorize(data, recipient, { now: new Date(), random: randomBytes })
      return () => {
        const address = `${engine.url}/offchain/${contract}/shares/7`
        return fetch(address, { method, headers: { authorization }, ...(method === 'GET' ? {} : { body }) })
      }
    }
    const put = await signed('PUT', share)
    await eventually(async () => (await (await signed('PUT', share))()).status === 201)
    expect((await put()).status).toBe(201)

    const stored = await everything()
    expect(stored).toContain('component_storage')
    for (const form of ['utf8', 'hex', 'base64'] as const)
      expect(stored).not.toContain(share.toString(form).slice(0, 24))

    await engine.kill()
    await engine.start()
    await waitUntilServed([engine], contract)
    expect([(await put()).status, (await put()).status]).toEqual([401, 401])
    await send(other, contract, 'SecretSharing', 'registerShared', ['7'])
    await eventually(async () => (await readSharing(at.chain, contract, 7n, await at.chain.fetchHead()))?.uploaded[0])
    await transact(at, contract, sharingMethods.requestDownload(7n))
    const got = await eventually(async () => {
      const again = await signed('GET', Buffer.alloc(0))
      const answer = await again()
      return answer.status === 200 && { bytes: Buffer.from(await answer.arrayBuffer()), again }
    })
    expect(got.bytes).toEqual(share)
    expect((await got.again()).status).toBe(401)
  },
  STARTS_MS,
)

const schema = new URL(url).searchParams.get('currentSchema') ?? ''
const applicationName = `vouchsafe ${schema}`
const ofEngine = 'application_name = $1 and pid <> pg_backend_pid()'

/** Ends the connections of the engine at the server, but none that is waiting for a lock. */
async function endConnections(run: StatementRunner): Promise<void> {
  const text = `select pg_terminate_backend(pid) from pg_stat_activity where ${ofEngine} and state <> 'active'`
  await run({ text, values: [applicationName] })
}

it(
  'is the only process on its database, also after the server ended its connections',
  async () => {
    const file = join(engine.directory, 'conf/server.json')
    const settings = JSON.parse(readFileSync(file, 'utf8')) as object
    writeFileSync(file, JSON.stringify({ ...settings, port: await freePort() }))
    await withConnection(postgresOf(url), async (run) => {
      const holders = `select pid from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and granted and ${ofEngine}`
      const findHolder = async () => (await run({ text: holders, values: [applicationName] })).rows[0]?.pid
      const before = await findHolder()
      expect(before).toBeDefined()
      await endConnections(run)
      await eventually(async () => ![undefined, before].includes(await findHolder()))
    })
    const second = await vouchsafe(['engine'], { cwd: engine.directory })
    const refusal = expect.stringContaining('is in use by another process of an engine; stop it first') as string
    expect([second.status, second.stderr]).toEqual([75, refusal])
    await engine.kill('SIGKILL')
    await engine.start()
  },
  STARTS_MS,
)

/** Starts a relay to a local port, which can lose its clients without a word to the server. */
async function startHalfOpenRelay(to: number) {
  const clients = new Set<Socket>()
  const onEnd: (() => void)[] = []
  const relay = createServer((client) => {
    const upstream = connect(to, '127.0.0.1').on('error', () => client.destroy())
    clients.add(client.on('error', () => undefined))
    client.pipe(upstream)
    upstream.pipe(client)
    onEnd.push(() => upstream.destroy())
  })
  const port = await freePort()
  await new Promise<void>((resolve) => relay.listen(port, '127.0.0.1', resolve))
  const loseClients = (): void => {
    for (const client of clients) client.destroy()
    clients.clear()
  }
  onTestFinished(() => {
    loseClients()
    for (const end of onEnd) end()
    relay.close()
  })
  return { port, loseClients }
}

it(
  'takes its own lock again where the server has not noticed that the connection is gone',
  async () => {
    const otherUrl = new URL(freshUrl())
    const relay = await startHalfOpenRelay(Number(otherUrl.port))
    otherUrl.port = String(relay.port)
    const other = await makeEngine({ database: { url: otherUrl.href } })
    onTestFinished(() => other.remove())
    await other.start()
    await withConnection(postgresOf(url), async (run) => {
      const holders = `select pid from pg_locks where locktype = 'advisory' and granted and classid = $1`
      const findHolders = async () => (await run({ text: holders, values: [PROCESS_LOCK] })).rows.map(({ pid }) => pid)
      const before = await findHolders()
      relay.loseClients()
      await eventually(async () => {
        const now = await findHolders()
        return now.length === before.length && now.some((pid) => !before.includes(pid))
      })
    })
    expect(other.log().filter(({ event }) => event === 'database_taken')).toEqual([])
  },
  STARTS_MS,
)

it(
  'ends with status 75 when another process takes the lock that it lost',
  async () => {
    await withConnection(postgresOf(url), async (run) => {
      const locks =
        "select objid::integer as key from pg_locks where locktype = 'advisory' and granted and classid = $1"
      const { rows } = await run({ text: locks, values: [PROCESS_LOCK] })
      // The lock is waited for, so that the engine, which tries again after a moment, does not get it.
      const lock = { text: 'select pg_advisory_lock($1, $2)', values: [PROCESS_LOCK, Number(rows[0]?.key)] }
      const lockTaken = run(lock)
      await withConnection(postgresOf(url), endConnections)
      await lockTaken
      expect((await engine.ended).status).toBe(75)
    })
    expect(engine.log().filter(({ event }) => event === 'database_taken')).toHaveLength(1)
    await engine.start()
  },
  STARTS_MS,
)

it(
  'ends with status 75 when another process had the lock while it stood still',
  async () => {
    engine.child.kill('SIGSTOP')
    await withConnection(postgresOf(url), endConnections)
    // The port is that of the engine, so that the other process ends by itself.
    const other = await vouchsafe(['engine'], { cwd: engine.directory })
    expect([other.status, other.stderr]).toEqual([75, expect.stringContaining('port')])
    engine.child.kill('SIGCONT')
    expect((await engine.ended).status).toBe(75)
    expect(engine.log().filter(({ event }) => event === 'database_taken')).toHaveLength(1)
  },
  STARTS_MS,
)

it(
  'ends when it cannot read its database, and leaves the lock on it to the next',
  async () => {
    const damagedUrl = freshUrl()
    const damagedSchema = new URL(damagedUrl).searchParams.get('currentSchema') ?? ''
    const damaged = await makeEngine({ chain: { type: 'local', directory: dir }, database: { url: damagedUrl } })
    onTestFinished(() => damaged.remove())
    await damaged.start()
    await damaged.kill()
    const changeChain = (expression: string) =>
      withConnection(postgresOf(damagedUrl), (run) =>
        run({ text: `update ${damagedSchema}.chain set value = ${expression}`, values: [] }),
      )
    await changeChain(`'damaged ' || value`)
    const { status, stderr } = await vouchsafe(['engine'], { cwd: damaged.directory })
    expect([status, stderr]).toEqual([2, expect.stringContaining('a value in the database is damaged')])
    await changeChain(`substr(value, length('damaged ') + 1)`)
    await damaged.start()
  },
  STARTS_MS,
)
