import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { type BodyBuffer, createBodyBuffer } from './body.ts'

const [ONE, OTHER] = [`00${'a1'.repeat(20)}`, `00${'b2'.repeat(20)}`]
const clock = { at: 0 }
const start = () => createBodyBuffer({ bodyBytes: 100, bufferedBytes: 400 }, () => new Date(clock.at))
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
    const first = Array.from({ length: 2 }, () => held.read(request(100), ONE))
    await hold(held, 200)
    expect(await held.read(request(50), ONE)).toEqual({ refusal: 'overloaded' })
    const other = request(100)
    other.end()
    expect(await held.read(other, OTHER)).toMatchObject({ bytes: { length: 100 } })
    expect(first).toHaveLength(2)
  })

  it('that stop coming make room for those that come', async () => {
    const held = start()
    const slow = Array.from({ length: 4 }, (_, at) => held.read(request(99), at < 2 ? ONE : OTHER))
    await hold(held, 396)
    clock.at += 1000
    expect(await held.read(request(100), ONE)).toEqual({ refusal: 'overloaded' })
    clock.at += 2000
    const good = request(100)
    good.end()
    expect(await held.read(good, ONE)).toMatchObject({ bytes: { length: 100 } })
    // The dropped bodies are of the contract that is over its share, and of no other.
    expect(await Promise.all(slow.slice(0, 2))).toEqual([{ refusal: 'overloaded' }, { refusal: 'overloaded' }])
    expect(held.countHeldBytes()).toBe(298)
  })

  it('that are announced and do not come drop no other', async () => {
    const held = start()
    const slow = Array.from({ length: 4 }, (_, at) => held.read(request(at === 0 ? 100 : 99), at < 2 ? ONE : OTHER))
    await hold(held, 397)
    const announced = Object.assign(request(0), { headers: { 'content-length': '100' } })
    const all = [held.read(announced, `00${'c3'.repeat(20)}`), ...slow]
    // A body that has no room is refused before the next turn of the event loop.
    expect(await Promise.race([...all, setImmediate('none')])).toBe('none')
    expect(held.countHeldBytes()).toBe(397)
  })

  it('for two contracts that fill the memory make room for one for a third', async () => {
    const held = start()
    const slow = Array.from({ length: 4 }, (_, at) => held.read(request(at === 0 ? 100 : 99), at < 2 ? ONE : OTHER))
    await hold(held, 397)
    const third = request(100)
    third.end()
    expect(await held.read(third, `00${'c3'.repeat(20)}`)).toMatchObject({ bytes: { length: 100 } })
    expect(await slow[0]).toEqual({ refusal: 'overloaded' })
  })
})
