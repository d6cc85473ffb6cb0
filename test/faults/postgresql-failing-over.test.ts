/**
 * A PostgreSQL server that fails under load while clients remember each answer: its standby takes over, it stands
 * still, or its disk is full.
 */
import { randomBytes } from 'node:crypto'
import { connect, createServer, type Socket } from 'node:net'
import { pino } from 'pino'
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import { openServiceDatabase } from '../../src/bin/database/checked-database.ts'
import { ChainError } from '../../src/chain/chain.ts'
import { type EngineCollections, engineMigrations } from '../../src/engine/collections.ts'
import { withConnection } from '../../src/store/postgres-connections.ts'
import { type Hands, serving, type TestEngine } from '../support/engine.ts'
import { makeEngine } from '../support/engine-process.ts'
import { longFault, reportFault } from '../support/faults.ts'
import { freePort } from '../support/free-port.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import {
  countAnswers,
  countEntries,
  createIssuerMemory,
  expectSpent,
  findLostOfIssuer,
  type IssuerMemory,
  servicesAt,
  useIssuer,
  useThroughFault,
} from '../support/remembering-client.ts'
import { type Running, serviceDirectory, startForTest } from '../support/service-process.ts'
import { ISSUER_URL, type Services } from '../support/services.ts'
import { postgresOf } from '../support/store.ts'
import { authorization, codeOf, declare, GRANT, postForm, startIssuance, statusOf } from '../support/wire.ts'

const CLIENTS = 8
/** The pause of a client after a refusal, and between questions to servers that take seconds. */
const POLL_MS = 200

/** A relay has one address in front of servers, as a proxy or a name has that leads to the primary server. */
interface Relay {
  readonly port: number
  /** Sends new connections to the port, and ends those that are open. */
  lead(port: number): void
}

async function startRelay(firstPort: number): Promise<Relay> {
  let target = firstPort
  const sockets = new Set<Socket>()
  const server = createServer((incoming) => {
    const outgoing = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const endAll = () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  onTestFinished(() => {
    endAll()
    server.close()
  })
  return {
    port,
    lead: (next) => {
      target = next
      endAll()
    },
  }
}

async function startedServer(...args: Parameters<typeof startPostgres>): Promise<PostgresServer> {
  return stopLater(await startPostgres(...args))
}

function stopLater(server: PostgresServer): PostgresServer {
  onTestFinished(() => server.stop())
  return server
}

function query({ url }: PostgresServer, text: string) {
  return withConnection(postgresOf(url), (run) => run({ text, values: [] }))
}

async function awaitRows(server: PostgresServer, text: string, count: number): Promise<void> {
  await expect.poll(async () => (await query(server, text)).rows, { interval: POLL_MS }).toHaveLength(count)
}

const portOf = ({ url }: PostgresServer): number => Number(new URL(url).port)

/** Starts a server that is reached through a relay, at the address `url`. */
async function startedPrimary() {
  const primary = await startedServer()
  const relay = await startRelay(portOf(primary))
  return { primary, relay, url: primary.url.replace(`:${portOf(primary)}`, `:${relay.port}`) }
}

async function startIssuer(database: object): Promise<Running> {
  return startForTest('issuer', await serviceDirectory('issuer', { baseUrl: ISSUER_URL, database }))
}

async function isReady({ url }: Running): Promise<boolean> {
  const { status } = await fetch(`${url}/health/ready`, { headers: authorization })
  return status === 200
}

async function awaitReady(service: Running, ready: boolean): Promise<void> {
  await expect.poll(() => isReady(service), { interval: POLL_MS }).toBe(ready)
}

interface Load {
  readonly services: Services
  readonly memory: IssuerMemory
  /** Waits until so many more credentials are there. */
  issueMore(count: number): Promise<void>
  stop(): Promise<void>
}

async function startLoad(service: Running): Promise<Load> {
  const services = servicesAt(() => service.url)
  const id = await declare(services)
  const memory = createIssuerMemory()
  let isOver = false
  const clients = Array.from({ length: CLIENTS }, () =>
    useThroughFault(
      () => useIssuer(services, id, memory),
      () => isOver,
      POLL_MS,
    ),
  )
  return {
    ...{ services, memory },
    issueMore: async (count) => {
      const before = memory.issued.size
      await expect.poll(() => memory.issued.size).toBeGreaterThanOrEqual(before + count)
    },
    stop: async () => {
      isOver = true
      await Promise.all(clients)
    },
  }
}

async function expectNothingLost(task: TestContext['task'], { services, memory }: Load): Promise<void> {
  const lost = await findLostOfIssuer(services, memory)
  expect(lost).toEqual([])
  await expectSpent(services, memory)
  expect(countEntries(memory)).toBe(memory.issued.size)
  reportFault(task, { tried: 1, acknowledged: countAnswers(memory), lost: lost.length })
}

/** Returns the number of status lists that the credentials have entries in. */
function countLists({ memory }: Load): number {
  return new Set([...memory.issued.values()].map(({ status }) => status.uri)).size
}

/** Waits until the standby has all that the primary has, and then lets no more reach it. */
async function endReplication(primary: PostgresServer, replication: Relay): Promise<void> {
  const behind = 'select from pg_stat_replication where replay_lsn < pg_current_wal_lsn()'
  await awaitRows(primary, behind, 0)
  replication.lead(await freePort())
}

async function failOver(primary: PostgresServer, standby: PostgresServer, relay: Relay): Promise<void> {
  await primary.kill()
  await query(standby, 'select pg_promote()')
  relay.lead(portOf(standby))
}

describe('a service whose PostgreSQL server fails over', () => {
  it('to a synchronous standby has all that it answered, and goes on with its status list', async ({ task }) => {
    const { primary, relay, url } = await startedPrimary()
    const service = await startIssuer({ url, synchronousStandbys: true })
    const standby = stopLater(await primary.startStandby())
    await query(primary, `alter system set synchronous_standby_names = '*'`)
    await query(primary, 'select pg_reload_conf()')
    await awaitRows(primary, `select from pg_stat_replication where sync_state = 'sync'`, 1)
    const load = await startLoad(service)
    await load.issueMore(20)
    await primary.kill()
    await awaitReady(service, false)
    await query(standby, 'select pg_promote()')
    relay.lead(portOf(standby))
    await awaitReady(service, true)
    await load.issueMore(20)
    await load.stop()
    await expectNothingLost(task, load)
    expect(countLists(load)).toBe(1)
    service.child.kill('SIGTERM')
    expect((await service.ended).stdout).not.toContain('database_replaced')
  })

  it('to a standby that lacks a redemption ends the offer while it runs, so that it is not redeemed twice', async ({
    task,
  }) => {
    const { primary, relay, url } = await startedPrimary()
    const service = await startIssuer({ url })
    const replication = await startRelay(portOf(primary))
    const standby = stopLater(await primary.startStandby(replication.port))
    await awaitRows(primary, 'select from pg_stat_replication', 1)
    const services = servicesAt(() => service.url)
    const { sessionId } = await startIssuance(services)
    const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, sessionId) }
    const redeemAgain = () => postForm(services, `${ISSUER_URL}/auth/token-endpoint/${sessionId}`, form)
    await endReplication(primary, replication)
    expect((await redeemAgain()).status).toBe(200)
    await failOver(primary, standby, relay)
    let answer = await redeemAgain()
    while (answer.status === 500) answer = await redeemAgain()
    expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_grant' })])
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'EXPIRED' })
    service.child.kill('SIGTERM')
    expect((await service.ended).stdout.match(/"event":"open_sessions_voided","sessions":1,/g)).toHaveLength(1)
    reportFault(task, { tried: 1 })
  })

  longFault('to a standby that lacks the last answers gives no entry of a status list twice', async ({ task }) => {
    const { primary, relay, url } = await startedPrimary()
    const service = await startIssuer({ url })
    const replication = await startRelay(portOf(primary))
    const standby = stopLater(await primary.startStandby(replication.port))
    await awaitRows(primary, 'select from pg_stat_replication', 1)
    const load = await startLoad(service)
    await load.issueMore(20)
    replication.lead(await freePort())
    // More than one lease of numbers, so that the standby does not know of the last lease.
    await load.issueMore(70)
    await primary.kill()
    await query(standby, 'select pg_promote()')
    relay.lead(portOf(standby))
    await awaitReady(service, true)
    // Enough to come to the end of a lease that the standby does not know of.
    await load.issueMore(70)
    await load.stop()
    const { services, memory } = load
    const lost = await findLostOfIssuer(services, memory)
    expect(lost.length).toBeGreaterThan(0)
    expect(countEntries(memory)).toBe(memory.issued.size)
    expect(countLists(load)).toBeGreaterThan(1)
    service.child.kill('SIGTERM')
    expect((await service.ended).stdout.match(/"event":"database_replaced"/g)).toHaveLength(1)
    reportFault(task, {
      tried: 1,
      acknowledged: countAnswers(memory),
      saw: `${lost.length} answers were not on the standby`,
    })
  })
})

describe('an engine whose PostgreSQL server fails over to a standby that lacks the last commits', () => {
  it('sends no transaction twice: it refuses the other database, and gives up at its next start what waited', async ({
    task,
  }) => {
    const { primary, relay, url } = await startedPrimary()
    const open = () =>
      openServiceDatabase<EngineCollections>(postgresOf(url), engineMigrations, {
        log: pino({ level: 'silent' }),
        onReplaced: () => {
          throw new Error('replaced')
        },
      })
    const started = async (engine: Promise<TestEngine>): Promise<TestEngine> => {
      const { engine: service, store } = await engine
      onTestFinished(async () => {
        await service.app.close()
        await store.close()
      })
      return engine
    }
    const http = (hands: Hands) => {
      hands.transact('a')
      return Promise.resolve({})
    }
    const engine = await started(serving({ http }, { store: await open() }))
    const { chain, clock } = engine
    const pass = async (each: TestEngine): Promise<void> => {
      clock.now = new Date(clock.now.getTime() + 300_000)
      chain.mine()
      await each.rounds()
    }
    const replication = await startRelay(portOf(primary))
    const standby = stopLater(await primary.startStandby(replication.port))
    await awaitRows(primary, 'select from pg_stat_replication', 1)
    chain.refuses = () => {
      throw new ChainError('the node is busy', { kind: 'failed' })
    }
    await engine.engine.app.inject({ method: 'POST', url: `${engine.url}/` })
    await engine.rounds()
    expect(await engine.store.list('outbox')).toHaveLength(1)
    await endReplication(primary, replication)
    chain.refuses = () => undefined
    await pass(engine)
    expect(chain.submitted).toHaveLength(1)
    await failOver(primary, standby, relay)
    for (let times = 0; times < 5; times++) await pass(engine).catch(() => undefined)
    expect(new Set(chain.submitted.map(({ raw }) => raw)).size).toBe(1)
    const again = await started(engine.restart(await open()))
    await pass(again)
    expect(await again.store.list('outbox')).toEqual([])
    expect(await again.store.list('failed_transaction')).toHaveLength(1)
    expect(new Set(chain.submitted.map(({ raw }) => raw)).size).toBe(1)
    reportFault(task, { tried: 1 })
  })

  it('ends with status 75 and says why, and its next start takes the database for a restored one', async ({ task }) => {
    const { primary, relay, url } = await startedPrimary()
    const engine = await makeEngine({ database: { url } })
    onTestFinished(() => engine.remove())
    await engine.start()
    const standby = stopLater(await primary.startStandby())
    await awaitRows(primary, 'select from pg_stat_replication', 1)
    await failOver(primary, standby, relay)
    expect((await engine.ended).status).toBe(75)
    expect(engine.log().filter(({ event }) => event === 'database_replaced')).toHaveLength(1)
    await engine.start()
    expect(engine.log()).toContainEqual(expect.objectContaining({ event: 'database_restored' }))
    reportFault(task, { tried: 1 })
  })
})

describe('a service whose PostgreSQL server', () => {
  longFault('stands still is not ready meanwhile, refuses in time, and has all that it answered', async ({ task }) => {
    const server = await startedServer()
    const service = await startIssuer({ url: server.url })
    const load = await startLoad(service)
    await load.issueMore(20)
    server.freeze()
    await awaitReady(service, false)
    const { status } = await fetch(`${service.url}/issuance/oid4vci/status/unknown`, { headers: authorization })
    expect(status).toBe(500)
    expect((await fetch(`${service.url}/health/live`)).status).toBe(200)
    server.thaw()
    await awaitReady(service, true)
    await load.issueMore(20)
    await load.stop()
    await expectNothingLost(task, load)
  })

  longFault('has a full disk refuses what it cannot keep, and has all that it answered', async ({ task }) => {
    // Files of the log of 1 MB, which have room below the limit of 4 MB that tables reach.
    const server = await startedServer([], { maxFileBlocks: 8192, initOptions: ['--wal-segsize=1'] })
    const service = await startIssuer({ url: server.url })
    const load = await startLoad(service)
    const id = await declare(load.services)
    const fill = async () => {
      const note = randomBytes(15_000).toString('base64')
      const body = { credential_configurations: [id], credential_dataset: { credentialSubject: { note } } }
      const headers = { ...authorization, 'content-type': 'application/json' }
      const url = `${service.url}/issuance/oid4vci/new-session`
      return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status
    }
    let status = 200
    while (status === 200) status = await fill()
    expect(status).toBe(500)
    await load.stop()
    const { services, memory } = load
    expect(await findLostOfIssuer(services, memory)).toEqual([])
    await server.kill()
    await server.restart()
    await awaitReady(service, true)
    expect(await fill()).toBe(200)
    await expectNothingLost(task, load)
  })
})
