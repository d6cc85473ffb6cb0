import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { WORKER_DIRECTORY } from '../../test/support/component-directory.ts'
import { call, LIMITS, script } from '../../test/support/components.ts'
import type { ForgetMessage, HostResponseMessage, JobMessage, WorkerData, WorkerReport } from './messages.ts'
import { callMessage } from './messages.ts'
import { compileQuickJs, createProgramCache } from './programs.ts'

const asksTwice = script(`off_chain_on_state_change() {
  for (const each of [1, 2]) hosted(0x81, Uint8Array.of(0, 0, 0, 1, each))
  return new Uint8Array(0)
}`)
const hostRequest = { job: 1, hostRequest: { ask: 'readContract' } }

/** Starts a worker, and the first job of the script that asks twice. */
async function startJob() {
  const { program } = await createProgramCache(LIMITS, () => undefined).prepare(asksTwice)
  const signal = new Int32Array(new SharedArrayBuffer(4))
  const quickjs = await compileQuickJs(readFileSync(join(WORKER_DIRECTORY, 'quickjs.wasm')), LIMITS)
  const workerData: WorkerData = { signal, limits: LIMITS, quickjs }
  const worker = new Worker(join(WORKER_DIRECTORY, 'component-worker.cjs'), { workerData })
  const hear = async () => ((await once(worker, 'message')) as [unknown])[0]
  const answer = (): void => {
    worker.postMessage({ job: 1, hostResponse: new Uint8Array(1) } satisfies HostResponseMessage)
    Atomics.add(signal, 0, 1)
    Atomics.notify(signal, 0)
  }
  expect(await hear()).toEqual({ report: 'ready' })
  const message = callMessage(call(asksTwice, { hook: { kind: 'state-change' } }))
  const job: JobMessage = { number: 1, sha256: asksTwice.sha256, program, call: message }
  worker.postMessage(job)
  expect(await hear()).toMatchObject(hostRequest)
  return { worker, hear, answer, signal, job }
}

describe('a worker', () => {
  it('is not taken in by a call to wake up that belongs to the answer before', async () => {
    const { worker, hear, answer, signal } = await startJob()
    try {
      answer()
      expect(await hear()).toMatchObject(hostRequest)
      // The engine's thread was held up before it could: the worker has found its answer without, and sleeps again.
      // The worker is woken twice: the second time shows that it slept again after the first.
      for (let wakings = 0; wakings < 2; wakings += Atomics.notify(signal, 0)) {
        await new Promise((resolve) => setImmediate(resolve))
      }
      const report = hear()
      answer()
      expect((await report) as WorkerReport).toMatchObject({ report: 'done' })
    } finally {
      await worker.terminate()
    }
  })

  it('tells the engine no names of a script but those of hooks', async () => {
    const { worker, hear, answer, job } = await startJob()
    try {
      answer()
      expect(await hear()).toMatchObject(hostRequest)
      answer()
      expect(await hear()).toMatchObject({ report: 'done' })
      const { sha256, bytes } = script(`[' '.repeat(1000)]() {}, a() {}, off_chain_on_state_change() {}`)
      const program = { kind: 'javascript', source: Buffer.from(bytes).toString() } as const
      worker.postMessage({ ...job, number: 2, sha256, program, call: undefined } satisfies JobMessage)
      expect(await hear()).toEqual({ report: 'hooks', hooks: ['off_chain_on_state_change'] })
    } finally {
      await worker.terminate()
    }
  })

  it.each(['while it waits for an answer', 'between two jobs'])('drops a component: %s', async (moment) => {
    const { worker, hear, answer, job } = await startJob()
    const forget = (): void => worker.postMessage({ forget: asksTwice.sha256 } satisfies ForgetMessage)
    try {
      if (moment === 'while it waits for an answer') forget()
      answer()
      expect(await hear()).toMatchObject(hostRequest)
      answer()
      expect(await hear()).toMatchObject({ report: 'done' })
      if (moment === 'between two jobs') forget()
      worker.postMessage({ ...job, number: 2, program: undefined } satisfies JobMessage)
      expect(await hear()).toMatchObject({ report: 'trap', message: 'the worker was not given the component' })
    } finally {
      await worker.terminate()
    }
  })
})
