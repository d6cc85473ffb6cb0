import { pino } from 'pino'
import { describe, expect, it, vi } from 'vitest'
import type { ContractEntry } from './contract-entry.ts'
import { type BackgroundJob, createJobRunner } from './job-runner.ts'

const EVERY_MS = 400
/** Longer than any test may take: whoever waits for it makes the test fail. */
const HOURS_MS = 10_000_000

/** Calls of these contracts, each of which notes when it ran. */
function calls(contracts: readonly string[], everyMs: number) {
  const work = createJobRunner({ log: pino({ enabled: false }) }, everyMs)
  const entries = new Map(contracts.map((address) => [address, { address } as ContractEntry]))
  const began = performance.now()
  const ran: { readonly contract: string; readonly afterMs: number }[] = []
  const all = contracts.map((contract): BackgroundJob => {
    const run = () => Promise.resolve(void ran.push({ contract, afterMs: performance.now() - began }))
    return { what: 'a call', entry: entries.get(contract) as ContractEntry, run, markRunning: () => undefined }
  })
  work.addCalls(all)
  return { work, ran }
}

describe('calls that are due at the same time', () => {
  it('begin one after another, where they are of several contracts', async () => {
    const { work, ran } = calls(['a', 'b', 'c', 'd'], EVERY_MS)
    await work.waitUntilIdle()
    expect(ran.map(({ contract }) => contract)).toEqual(['a', 'b', 'c', 'd'])
    // The timers are real, since those of node:timers/promises cannot be replaced; one may fire a millisecond early.
    for (const [at, { afterMs }] of ran.entries()) expect(afterMs).toBeGreaterThan((at * EVERY_MS) / 4 - 5)
  })

  it('begin at once, where they are of one', async () => {
    const { work, ran } = calls(['a', 'a', 'a', 'a'], HOURS_MS)
    await work.waitUntilIdle()
    expect(ran).toHaveLength(4)
  })

  it('are not made after the stop', async () => {
    const { work, ran } = calls(['a', 'b'], HOURS_MS)
    await vi.waitFor(() => expect(ran).toHaveLength(1), 300_000)
    work.stop()
    await work.waitUntilIdle()
    expect(ran.map(({ contract }) => contract)).toEqual(['a'])
  })
})
