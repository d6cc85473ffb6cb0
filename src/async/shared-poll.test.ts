import { setImmediate as immediately } from 'node:timers/promises'
import { beforeEach, expect, it, vi } from 'vitest'
import { fakeTimersOf } from '../../test/support/fake-timers.ts'
import { sharedPoll } from './shared-poll.ts'

const PAUSE_MS = 1013

let countPauses: () => number
beforeEach(() => {
  countPauses = fakeTimersOf(PAUSE_MS)
})

/** Lets the pause pass, and the reads that follow it end, where they can. */
async function passRound(): Promise<void> {
  vi.advanceTimersByTime(PAUSE_MS)
  for (let turn = 0; turn < 10; turn += 1) await immediately()
}

/** Makes a listener that keeps what it is told. */
function makeListener() {
  const told: unknown[] = []
  const fail = (error: unknown): void => void told.push((error as Error).message)
  return { told, listener: { take: (value: unknown) => void told.push(value), fail } }
}

/** Makes a read that keeps the ids it was asked for, and ends when it is released. */
function heldRead() {
  const ids: string[] = []
  const releases: (() => void)[] = []
  const read = (id: string) => {
    ids.push(id)
    return new Promise<string>((resolve) => releases.push(() => resolve(`value of ${id}`)))
  }
  const releaseAll = () => {
    for (const release of releases.splice(0)) release()
  }
  return { ids, read, releaseAll }
}

it('an id is read once a round for all of its listeners, after the pause', async () => {
  const read = vi.fn((id: string) => Promise.resolve(`${id}${read.mock.calls.length}`))
  const poll = sharedPoll(read, PAUSE_MS)
  const [one, two, other] = [makeListener(), makeListener(), makeListener()]
  poll('a', one.listener)
  poll('a', two.listener)
  poll('b', other.listener)
  vi.advanceTimersByTime(PAUSE_MS - 1)
  await immediately()
  expect(read.mock.calls).toEqual([])
  await passRound()
  expect([one.told, two.told, other.told]).toEqual([['a1'], ['a1'], ['b2']])
  await passRound()
  expect([one.told, two.told, other.told]).toEqual([
    ['a1', 'a3'],
    ['a1', 'a3'],
    ['b2', 'b4'],
  ])
})

it.each<[string, () => Promise<string>]>([
  ['rejects', () => Promise.reject(new Error('no'))],
  [
    'throws before it returns a promise',
    () => {
      throw new Error('no')
    },
  ],
])('a read that %s is told to the listeners of its id alone, and the next round reads again', async (_, fail) => {
  let isFailing = true
  const poll = sharedPoll((id) => (id === 'a' && isFailing ? fail() : Promise.resolve(id)), PAUSE_MS)
  const [one, two, other] = [makeListener(), makeListener(), makeListener()]
  poll('a', one.listener)
  poll('a', two.listener)
  poll('b', other.listener)
  await passRound()
  isFailing = false
  await passRound()
  expect([one.told, two.told, other.told]).toEqual([
    ['no', 'a'],
    ['no', 'a'],
    ['b', 'b'],
  ])
})

it('a listener is told what was read after it came, and nothing after it went', async () => {
  const { ids, read, releaseAll } = heldRead()
  const poll = sharedPoll(read, PAUSE_MS)
  const [early, late, gone] = [makeListener(), makeListener(), makeListener()]
  poll('a', early.listener)
  const remove = poll('a', gone.listener)
  await passRound()
  expect(ids).toEqual(['a'])
  poll('a', late.listener)
  remove()
  releaseAll()
  await passRound()
  expect([early.told, late.told, gone.told]).toEqual([['value of a'], [], []])
  await passRound()
  releaseAll()
  await passRound()
  expect([early.told.length, late.told, gone.told]).toEqual([2, ['value of a'], []])
})

it('nothing is read when nobody listens, and it begins again with the next listener', async () => {
  const read = vi.fn((id: string) => Promise.resolve(id))
  const poll = sharedPoll(read, PAUSE_MS)
  const first = makeListener()
  const remove = poll('a', first.listener)
  await passRound()
  remove()
  await passRound()
  expect([read.mock.calls.length, countPauses()]).toEqual([1, 0])
  const next = makeListener()
  poll('a', next.listener)
  // The function that removed the first listener leaves the next alone.
  remove()
  await passRound()
  expect([first.told, next.told, countPauses()]).toEqual([['a'], ['a'], 1])
})

it('a hundred ids are read at once, and the others when these have been read', async () => {
  const { ids, read, releaseAll } = heldRead()
  const poll = sharedPoll(read, PAUSE_MS)
  const all = Array.from({ length: 150 }, (_, at) => ({ id: String(at), ...makeListener() }))
  for (const { id, listener } of all) poll(id, listener)
  await passRound()
  expect(ids).toHaveLength(100)
  releaseAll()
  await passRound()
  expect(ids).toHaveLength(150)
  expect(countPauses()).toBe(0)
  releaseAll()
  await passRound()
  expect(all.map(({ told }) => told)).toEqual(all.map(({ id }) => [`value of ${id}`]))
})
