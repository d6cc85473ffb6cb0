import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createWorkerClient, type WorkerClient } from './worker-client.ts'

/** Answers with its own number; ends when it is asked to; keeps `later` until it is asked something else. */
const PROGRAM = `const { parentPort, threadId, workerData } = require('node:worker_threads')
let later
parentPort.on('message', ({ id, request }) => {
  if (request === 'end') process.exit(3)
  if (request === 'throw') throw new Error('broken')
  if (request === 'later') { later = id; return }
  parentPort.postMessage({ id, result: [workerData, threadId, request] })
  if (later !== undefined) parentPort.postMessage({ id: later, error: { name: 'Refusal', message: 'no', code: 7 } })
})`

describe('a thread that is asked', () => {
  let file: string
  let thread: WorkerClient
  beforeAll(() => {
    const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-thread-'))
    file = join(directory, 'program.cjs')
    writeFileSync(file, PROGRAM)
    thread = createWorkerClient(file, 'data')
    return async () => {
      await thread.end()
      rmSync(directory, { recursive: true, force: true })
    }
  })

  it('answers each request, in whatever order', async () => {
    const later = thread.call('later')
    expect(await thread.call({ n: [1n] })).toEqual(['data', expect.any(Number), { n: [1n] }])
    const error: unknown = await later.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'Refusal', message: 'no', code: 7 })
  })

  it.each([
    ['end', 'exit 3'],
    ['throw', 'broken'],
  ])('ends (%s): what it was asked is told, and what is asked next has another', async (request, why) => {
    const [, before] = (await thread.call('which')) as [string, number]
    const asked = await Promise.allSettled([thread.call(request), thread.call('which')])
    for (const each of asked) {
      expect(each).toMatchObject({
        status: 'rejected',
        reason: { message: `the thread ended before it answered: ${why}` },
      })
    }
    const [, after] = (await thread.call('which')) as [string, number]
    expect(after).toBeGreaterThan(before)
  })

  it('ends by an error, which is the cause of what its callers are told', async () => {
    await expect(thread.call('throw')).rejects.toMatchObject({ cause: { message: 'broken' } })
  })

  it('is not followed by another once it was told to end', async () => {
    const ended = createWorkerClient(file, 'data')
    await ended.call('which')
    await ended.end()
    await expect(ended.call('which')).rejects.toThrow('the thread has ended')
  })

  it('refuses what cannot be sent, waits for no reply to it, and goes on', async () => {
    const ports = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort')
    await thread.call('which')
    const before = ports()
    await expect(thread.call(() => undefined)).rejects.toThrow('could not be cloned')
    expect(ports()).toEqual(before)
    expect(await thread.call('which')).toHaveLength(3)
  })
})
