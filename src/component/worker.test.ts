import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { WORKER_DIRECTORY } from '../../test/support/component-directory.ts'
import { call, LIMITS, script } from '../../test/support/components.ts'
import type { AnswerMessage, Job, WorkerData, WorkerReport } from './messages.ts'
import { callMessage } from './messages.ts'
import { compileQuickJs, createProgramCache } from './programs.ts'

it('is not taken in by a call to wake up that belongs to the answer before', async () => {
  const asksTwice = script(`off_chain_on_state_change() {
    for (const each of [1, 2]) hosted(0x81, Uint8Array.of(0, 0, 0, 1, each))
    return new Uint8Array(0)
  }`)
  const { program } = await createProgramCache(LIMITS, 1)(asksTwice)
  const signal = new Int32Array(new SharedArrayBuffer(4))
  const quickjs = await compileQuickJs(readFileSync(join(WORKER_DIRECTORY, 'quickjs.wasm')), LIMITS)
  const workerData: WorkerData = { signal, limits: LIMITS, quickjs }
  const worker = new Worker(join(WORKER_DIRECTORY, 'component-worker.cjs'), { workerData })
  const heard = async () => ((await once(worker, 'message')) as [unknown])[0]
  const answer = (): void => {
    worker.postMessage({ job: 1, answer: new Uint8Array(1) } satisfies AnswerMessage)
    Atomics.add(signal, 0, 1)
    Atomics.notify(signal, 0)
  }
  try {
    expect(await heard()).toEqual({ report: 'ready' })
    const message = callMessage(call(asksTwice, { hook: { kind: 'state-change' } }))
    const job: Job = { number: 1, component: asksTwice.sha256, program, forget: undefined, call: message }
    worker.postMessage(job)
    expect(await heard()).toMatchObject({ job: 1, question: { ask: 'contract' } })
    answer()
    expect(await heard()).toMatchObject({ job: 1, question: { ask: 'contract' } })
    // The engine's thread was held up before it could: the worker has found its answer without, and sleeps again.
    // The worker is woken twice: the second time shows that it slept again after the first.
    for (let wakings = 0; wakings < 2; wakings += Atomics.notify(signal, 0)) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    const report = heard()
    answer()
    expect((await report) as WorkerReport).toMatchObject({ report: 'done' })
  } finally {
    await worker.terminate()
  }
})
