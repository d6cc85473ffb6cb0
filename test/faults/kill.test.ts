/**
 * Services that are killed under load, again and again, while clients remember the acknowledged answers: after each
 * restart all answers hold, and nothing was given out or accepted twice.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { killRounds, reportFault } from '../support/faults.ts'
import {
  countAnswers,
  countEntries,
  createIssuerMemory,
  expectAnswered,
  expectSpent,
  findLostOfIssuer,
  findLostOfVerifier,
  issueByVerifierKey,
  servicesAt,
  useIssuer,
  useUntilKilled,
  useVerifier,
  type VerifierMemory,
} from '../support/remembering-client.ts'
import { endService, type Running, serviceDirectory, start } from '../support/service-process.ts'
import { ISSUER_URL, VERIFIER_URL } from '../support/services.ts'
import { databaseSettings } from '../support/store.ts'
import { declare } from '../support/wire.ts'

const CLIENTS = 8

const running: Running[] = []
afterEach(async () => {
  for (const service of running.splice(0)) await endService(service, 'SIGKILL')
})

async function started(name: 'issuer' | 'verifier', directory: string): Promise<Running> {
  const service = await start(name, directory)
  running.push(service)
  return service
}

function manyClients(use: () => Promise<void>): Promise<unknown> {
  return Promise.all(Array.from({ length: CLIENTS }, () => useUntilKilled(use)))
}

/** Returns after how many answers the service is killed: another moment of the other clients in each round. */
function answersBeforeKill(round: number): number {
  return 1 + ((round * 7) % 23)
}

describe('an issuer that is killed under load', () => {
  it('has all that it answered, each time, and gives nothing out twice', async ({ task }) => {
    const rounds = killRounds()
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL, ...databaseSettings() })
    const clock = { now: new Date() }
    const all = createIssuerMemory()
    let [acknowledged, lost] = [0, 0]
    let service = await started('issuer', directory)
    const services = servicesAt(() => service.url, clock)
    const configurationId = await declare(services)
    for (let round = 0; round < rounds; round += 1) {
      clock.now = new Date()
      const memory = createIssuerMemory()
      const load = manyClients(() => useIssuer(services, configurationId, memory))
      await vi.waitUntil(() => memory.issued.size >= answersBeforeKill(round), { timeout: 300_000, interval: 2 })
      await endService(service, 'SIGKILL')
      await load
      service = await started('issuer', directory)
      acknowledged += countAnswers(memory)
      const missing = await findLostOfIssuer(services, memory)
      lost += missing.length
      expect(missing).toEqual([])
      await expectSpent(services, memory)
      for (const [id, issued] of memory.issued) all.issued.set(id, issued)
    }
    expect(countEntries(all)).toBe(all.issued.size)
    // A session, a token and a credential in each round at least.
    expect(acknowledged).toBeGreaterThanOrEqual(3 * rounds)
    reportFault(task, { tried: rounds, acknowledged, lost })
  })
})

describe('a verifier that is killed under load', () => {
  it('has each session and result that it answered, and accepts no presentation twice', async ({ task }) => {
    const rounds = killRounds()
    const directory = await serviceDirectory('verifier', { baseUrl: VERIFIER_URL, ...databaseSettings() })
    const held = await issueByVerifierKey(directory)
    const clock = { now: new Date() }
    let [acknowledged, lost] = [0, 0]
    let service = await started('verifier', directory)
    const services = servicesAt(() => service.url, clock)
    for (let round = 0; round < rounds; round += 1) {
      clock.now = new Date()
      const memory: VerifierMemory = { sessions: new Set(), accepted: new Map() }
      const load = manyClients(() => useVerifier(services, held, memory))
      await vi.waitUntil(() => memory.accepted.size >= answersBeforeKill(round), { timeout: 300_000, interval: 2 })
      await endService(service, 'SIGKILL')
      await load
      service = await started('verifier', directory)
      acknowledged += memory.sessions.size + memory.accepted.size
      const missing = await findLostOfVerifier(services, memory)
      lost += missing.length
      expect(missing).toEqual([])
      await expectAnswered(memory)
    }
    expect(acknowledged).toBeGreaterThanOrEqual(2 * rounds)
    reportFault(task, { tried: rounds, acknowledged, lost })
  })
})
