import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createReaderLines, logCounts, waitUntilWritten } from './log.ts'

/** Makes an output whose reader takes a text each time that `take` is called. */
function slowOutput() {
  const waiting: (() => void)[] = []
  const texts: string[] = []
  const output = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      waiting.push(() => {
        texts.push(text)
        done()
      })
    },
  })
  return { output, texts, take: () => waiting.shift()?.() }
}

describe('all that was written', () => {
  it('has been taken, also where less waited than makes a writer wait', async () => {
    const { output, texts, take } = slowOutput()
    expect([output.write('a'), output.write('b')]).toEqual([true, true])
    const seen: string[] = []
    void waitUntilWritten(output).then(() => seen.push(texts.join('')))
    for (let turn = 0; turn < 5; turn++) {
      take()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(seen).toEqual(['ab'])
  })

  it('is not waited for where nothing has been written, or the reader is gone', async () => {
    const { output, take } = slowOutput()
    const written = waitUntilWritten(output)
    take()
    await written
    output.destroy()
    await waitUntilWritten(output)
  })
})

it('counts the lines that a reader who is gone did not take', async () => {
  const { dropped } = logCounts
  const reader = new Writable({ write: (_chunk, _encoding, done) => done(new Error('write EPIPE')) })
  const lines = createReaderLines(reader)
  for (const line of ['a\n', 'b\n']) {
    lines.write(line)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(logCounts.dropped - dropped).toBe(2)
})
