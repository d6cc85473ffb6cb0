import { describe, expect, it, vi } from 'vitest'
import { CONTRACT, type Script } from '../../test/support/engine.ts'
import { put, started } from '../../test/support/engine-calls.ts'

const OTHER = `00${'d2'.repeat(20)}`
const MANY = 32

/**
 * Starts two contracts whose timers are due at the same time: many of the first, which take until `release`, and one of
 * the other.
 */
async function withSlowTimers() {
  let release: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const ran: string[] = []
  const script: Script = {
    http: (hands) => {
      const [count, delayMs] = hands.call.contract === CONTRACT ? [MANY, 1] : [1, 2]
      for (let id = 0; id < count; id++) hands.timer(id, delayMs)
      return Promise.resolve({})
    },
    timer: async ({ call: { contract } }) => {
      ran.push(contract)
      if (contract === CONTRACT) await gate
    },
  }
  const engine = await started(script)
  engine.chain.set({ address: OTHER, component: { sha256: [...engine.files.keys()][0] ?? '', uri: '' } })
  await engine.rounds()
  for (const url of [engine.url, `/offchain/${OTHER}`]) await put({ ...engine, url }, '')
  engine.clock.now = new Date(engine.clock.now.getTime() + 1000)
  await engine.task('background')
  return { engine: engine.engine, ran, release }
}

describe('a contract with many slow timers', () => {
  it('keeps those of no other waiting', async () => {
    const { engine, ran, release } = await withSlowTimers()
    await vi.waitFor(() => expect(ran).toEqual([CONTRACT, OTHER]), { timeout: 300_000 })
    release()
    await engine.waitUntilIdle()
    expect(ran).toHaveLength(MANY + 1)
  })

  it('has none of them run that begins after the engine was stopped', async () => {
    const { engine, ran, release } = await withSlowTimers()
    await vi.waitFor(() => expect(ran).toEqual([CONTRACT, OTHER]), { timeout: 60_000 })
    const stopped = engine.stop()
    release()
    await stopped
    expect(ran.filter((contract) => contract === CONTRACT)).toHaveLength(1)
  })
})
