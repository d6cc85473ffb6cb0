import { expect, it } from 'vitest'
import { askForFinalAnswer } from './retries.ts'

const ENGINE = { address: `00${'aa'.repeat(20)}`, endpoint: '' }
const BLOCK_MS = 12_000
const PATIENCE_MS = 30_000

/** Asks an engine that accepts a request from block 100 on, and returns the status and how long that took. */
async function ask({ first, block, blockMs = BLOCK_MS }: Record<'first' | 'block', number> & { blockMs?: number }) {
  let time = 0
  const client = {
    now: () => new Date(time),
    wait: (ms: number) => {
      time += ms
      return Promise.resolve()
    },
    call: () => {
      const reached = first + Math.floor(time / blockMs)
      const status = reached < block ? 400 : 200
      return Promise.resolve({ engine: ENGINE, status, headers: {}, body: new Uint8Array(), block: reached })
    },
  }
  const { status } = await askForFinalAnswer(client as never, ENGINE, {} as never, { block, patienceMs: PATIENCE_MS })
  return { status, seconds: Math.round(time / 1000) }
}

it('waits for an engine whose blocks come nearer, as one that waits for confirmations', async () => {
  expect(await ask({ first: 88, block: 100 })).toMatchObject({ status: 200, seconds: 145 })
})

it('waits no longer than it is patient for an engine that stands still', async () => {
  expect(await ask({ first: 88, block: 100, blockMs: Infinity })).toMatchObject({ status: 400, seconds: 31 })
})

it('waits a quarter of an hour at most for one whose blocks never come near', async () => {
  expect(await ask({ first: 0, block: 1_000_000 })).toMatchObject({ status: 400, seconds: 901 })
})
