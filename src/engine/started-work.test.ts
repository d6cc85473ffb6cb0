import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { Entry } from './contract-entry.ts'
import { startedWork, type Work } from './started-work.ts'

const EVERY_MS = 400

/** Calls of these contracts, each of which notes when it ran. */
function calls(contracts: readonly string[]) {
  const work = startedWork({ log: pino({ enabled: false }) }, EVERY_MS)
  const entries = new Map(contracts.map((address) => [address, { address } as Entry]))
  const began = performance.now()
  const ran: { readonly contract: string; readonly afterMs: number }[] = []
  const all = contracts.map((contract): Work => {
    const run = () => Promise.resolve(void ran.push({ contract, afterMs: performance.now() - began }))
    return { what: 'a call', entry: entries.get(contract) as Entry, run, running: () => undefined }
  })
  work.addCalls(all)
  return { work, ran }
}

describe('calls that are due at the same time', () => {
  it('begin one after another, where they are of several contracts', async () => {
    const { work, ran } = calls(['a', 'b', 'c', 'd'])
    await work.settled()
    expect(ran.map(({ contract }) => contract)).toEqual(['a', 'b', 'c', 'd'])
    // A timer may fire a millisecond early.
    for (const [at, { afterMs }] of ran.entries()) expect(afterMs).toBeGreaterThan((at * EVERY_MS) / 4 - 5)
  })

  it('begin at once, where they are of one', async () => {
    const { work, ran } = calls(['a', 'a', 'a', 'a'])
    await work.settled()
    expect(ran).toHaveLength(4)
    expect(ran[3]?.afterMs).toBeLessThan(EVERY_MS / 2)
  })

  it('are not made after the stop', async () => {
    const { work, ran } = calls(['a', 'b'])
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS / 8))
    work.stop()
    const stopped = performance.now()
    await work.settled()
    expect(performance.now() - stopped).toBeLessThan(EVERY_MS / 4)
    expect(ran.map(({ contract }) => contract)).toEqual(['a'])
  })
})
