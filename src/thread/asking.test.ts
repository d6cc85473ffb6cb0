import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type AskedThread, askedThread } from './asking.ts'

/** Answers with its own number; ends when it is asked to; keeps `later` until it is asked something else. */
const PROGRAM = `const { parentPort, threadId, workerData } = require('node:worker_threads')
let later
parentPort.on('message', ({ id, question }) => {
  if (question === 'end') process.exit(3)
  if (question === 'throw') throw new Error('broken')
  if (question === 'later') { later = id; return }
  parentPort.postMessage({ id, result: [workerData, threadId, question] })
  if (later !== undefined) parentPort.postMessage({ id: later, error: { name: 'Refusal', message: 'no', code: 7 } })
})`

describe('a thread that is asked', () => {
  let file: string
  let thread: AskedThread
  beforeAll(() => {
    const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-thread-'))
    file = join(directory, 'program.cjs')
    writeFileSync(file, PROGRAM)
    thread = askedThread(file, 'data')
    return async () => {
      await thread.end()
      rmSync(directory, { recursive: true, force: true })
    }
  })

  it('answers each question, in whatever order', async () => {
    const later = thread.ask('later')
    expect(await thread.ask({ n: [1n] })).toEqual(['data', expect.any(Number), { n: [1n] }])
    const error: unknown = await later.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'Refusal', message: 'no', code: 7 })
  })

  it.each([
    ['end', 'exit 3'],
    ['throw', 'broken'],
  ])('ends (%s): what it was asked is told, and what is asked next has another', async (question, why) => {
    const [, before] = (await thread.ask('which')) as [string, number]
    const asked = await Promise.allSettled([thread.ask(question), thread.ask('which')])
    for (const each of asked) {
      expect(each).toMatchObject({
        status: 'rejected',
        reason: { message: `the thread ended before it answered: ${why}` },
      })
    }
    const [, after] = (await thread.ask('which')) as [string, number]
    expect(after).toBeGreaterThan(before)
  })

  it('is not followed by another once it was told to end', async () => {
    const ended = askedThread(file, 'data')
    await ended.ask('which')
    await ended.end()
    await expect(ended.ask('which')).rejects.toThrow('the thread has ended')
  })

  it('refuses what cannot be sent, waits for no answer to it, and goes on', async () => {
    const ports = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort')
    await thread.ask('which')
    const before = ports()
    await expect(thread.ask(() => undefined)).rejects.toThrow('could not be cloned')
    expect(ports()).toEqual(before)
    expect(await thread.ask('which')).toHaveLength(3)
  })
})
