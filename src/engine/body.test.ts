import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { type BodyBuffer, createBodyBuffer } from './body.ts'

const [ONE, OTHER] = [`00${'a1'.repeat(20)}`, `00${'b2'.repeat(20)}`]
const clock = { at: 0 }
const start = () => createBodyBuffer({ bodyBytes: 1000, bufferedBytes: 4000 }, () => new Date(clock.at))
/** Makes a request of which this much has come, and that has not ended. */
const request = (bytes: number): IncomingMessage & PassThrough => {
  const stream = Object.assign(new PassThrough(), { headers: {} })
  stream.write(Buffer.alloc(bytes))
  return stream as unknown as IncomingMessage & PassThrough
}
const hold = (buffer: BodyBuffer, bytes: number) =>
  vi.waitUntil(() => buffer.countHeldBytes() === bytes, { timeout: 60_000 })

describe('bodies of requests', () => {
  it('for one contract leave room for those for others', async () => {
    const held = start()
    const first = Array.from({ length: 2 }, () => held.read(request(1000), ONE))
    await hold(held, 2000)
    expect(await held.read(request(500), ONE)).toEqual({ refusal: 'overloaded' })
    const other = request(1000)
    other.end()
    expect(await held.read(other, OTHER)).toMatchObject({ bytes: { length: 1000 } })
    expect(first).toHaveLength(2)
  })

  it('that stop coming make room for those that come', async () => {
    const held = start()
    const slow = Array.from({ length: 4 }, (_, at) => held.read(request(990), at < 2 ? ONE : OTHER))
    await hold(held, 3960)
    clock.at += 1000
    expect(await held.read(request(1000), ONE)).toEqual({ refusal: 'overloaded' })
    clock.at += 2000
    const good = request(1000)
    good.end()
    expect(await held.read(good, ONE)).toMatchObject({ bytes: { length: 1000 } })
    // The dropped bodies are of the contract that is over its share, and of no other.
    expect(await Promise.all(slow.slice(0, 2))).toEqual([{ refusal: 'overloaded' }, { refusal: 'overloaded' }])
    expect(held.countHeldBytes()).toBe(2980)
  })

  it('that are announced and do not come drop no other', async () => {
    const held = start()
    const slow = Array.from({ length: 4 }, (_, at) => held.read(request(at === 0 ? 1000 : 990), at < 2 ? ONE : OTHER))
    await hold(held, 3970)
    const announced = Object.assign(request(0), { headers: { 'content-length': '1000' } })
    const all = [held.read(announced, `00${'c3'.repeat(20)}`), ...slow]
    // A body that has no room is refused before the next turn of the event loop.
    expect(await Promise.race([...all, setImmediate('none')])).toBe('none')
    expect(held.countHeldBytes()).toBe(3970)
  })

  it('for two contracts that fill the memory make room for one for a third', async () => {
    const held = start()
    const slow = Array.from({ length: 4 }, (_, at) => held.read(request(at === 0 ? 1000 : 990), at < 2 ? ONE : OTHER))
    await hold(held, 3970)
    const third = request(1000)
    third.end()
    expect(await held.read(third, `00${'c3'.repeat(20)}`)).toMatchObject({ bytes: { length: 1000 } })
    expect(await slow[0]).toEqual({ refusal: 'overloaded' })
  })

  it('in thousands of parts of a byte are refused, and free their memory', async () => {
    const held = createBodyBuffer({ bodyBytes: 1e6, bufferedBytes: 1e9 }, () => new Date(clock.at))
    const tiny = request(1)
    const answer = held.read(tiny, ONE)
    for (let sent = 1; sent < 2000; sent++) tiny.write('a')
    await hold(held, 2000 * 512)
    tiny.write('a')
    expect(await answer).toEqual({ refusal: 'body-in-tiny-parts' })
    expect(held.countHeldBytes()).toBe(0)
  })

  it('in thousands of parts as large as segments are taken', async () => {
    const held = createBodyBuffer({ bodyBytes: 1e6, bufferedBytes: 1e9 }, () => new Date(clock.at))
    const good = request(536)
    const answer = held.read(good, ONE)
    for (let sent = 1; sent < 1800; sent++) good.write(Buffer.alloc(64))
    for (let sent = 0; sent < 700; sent++) good.write(Buffer.alloc(536))
    good.end()
    expect(await answer).toMatchObject({ bytes: { length: 1800 * 64 + 472 + 700 * 536 } })
  })
})
