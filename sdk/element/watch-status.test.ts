import { afterEach, expect, it, vi } from 'vitest'
import type { StatusAnswer } from './status.ts'
import { watchStatus } from './watch-status.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

it('opens no stream of events that nobody would close, as the watch ended while the first answer was read', async () => {
  const controller = new AbortController()
  const body = new ReadableStream({ cancel: () => controller.abort() })
  const opened: string[] = []
  vi.stubGlobal('document', Object.assign(new EventTarget(), { hidden: false }))
  vi.stubGlobal('fetch', () =>
    Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } })),
  )
  vi.stubGlobal(
    'EventSource',
    class extends EventTarget {
      constructor(url: string) {
        super()
        opened.push(url)
      }
    },
  )
  const listener = { onAnswer: () => undefined, onLost: () => undefined }
  await watchStatus('https://app.example/status', listener, controller.signal)
  expect(opened).toEqual([])
})

it('tells that the application is lost where its stream breaks and it cannot be asked, until a stream says a status', async () => {
  vi.useFakeTimers()
  const watch = startWatch()
  await vi.advanceTimersByTimeAsync(0)
  watch.say({ status: 'STARTED' })
  watch.isUp = false
  watch.break()
  await vi.advanceTimersByTimeAsync(20_000)
  expect(watch.told).toEqual(['waiting', 'lost', 'lost'])
  watch.isUp = true
  await vi.advanceTimersByTimeAsync(15_000)
  watch.say({ status: 'opened' })
  watch.break()
  watch.controller.abort()
  expect(watch.told.slice(2)).toEqual(['lost', 'opened'])
  expect(watch.open()).toBe(0)
})

it('follows its stream anew when the page is hidden or seen, which is no failure', async () => {
  vi.useFakeTimers()
  const watch = startWatch()
  await vi.advanceTimersByTimeAsync(0)
  for (let change = 0; change < 4; change += 1) {
    expect(watch.open()).toBe(1)
    document.dispatchEvent(new Event('visibilitychange'))
    expect(watch.open()).toBe(0)
    await vi.advanceTimersByTimeAsync(1000)
  }
  expect(watch.told).toEqual([])
  watch.controller.abort()
})

it('does not end a stream for an event that the application calls `error`', async () => {
  vi.useFakeTimers()
  const watch = startWatch()
  await vi.advanceTimersByTimeAsync(0)
  watch.say({ status: 'STARTED' }, 'error')
  expect(watch.open()).toBe(1)
  watch.controller.abort()
})

it('tells the time of an event by the clock of the application, and not by the one of the device', async () => {
  vi.useFakeTimers({ now: 1_900_000_000_000 })
  const watch = startWatch('Sat, 01 Jan 2028 00:00:00 GMT')
  await vi.advanceTimersByTimeAsync(3000)
  watch.say({ status: 'STARTED' })
  expect(watch.times).toEqual([Date.UTC(2028, 0, 1, 0, 0, 3) / 1000])
  watch.controller.abort()
})

/** Starts a watch of an application that answers by a stream of events while it is up. */
function startWatch(date = new Date().toUTCString()) {
  const controller = new AbortController()
  const sources: Source[] = []
  class Source extends EventTarget {
    readonly OPEN = 1
    readyState = 1
    constructor() {
      super()
      sources.push(this)
    }
    close(): void {
      this.readyState = 2
    }
  }
  vi.stubGlobal('document', Object.assign(new EventTarget(), { hidden: false }))
  vi.stubGlobal('EventSource', Source)
  const watch = {
    controller,
    isUp: true,
    told: [] as string[],
    times: [] as number[],
    open: () => sources.filter(({ readyState }) => readyState !== 2).length,
    say: (answer: object, type = 'status') =>
      sources.at(-1)?.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(answer) })),
    /** Breaks the stream, as the network does: a browser would open it again by itself. */
    break: () => {
      const source = sources.at(-1)
      if (source) source.readyState = 0
      source?.dispatchEvent(new Event('error'))
    },
  }
  vi.stubGlobal('fetch', () =>
    watch.isUp
      ? Promise.resolve(new Response('', { headers: { 'content-type': 'text/event-stream', date } }))
      : Promise.reject(new TypeError('fetch failed')),
  )
  const listener = {
    onAnswer: ({ status }: StatusAnswer, now: number) => {
      watch.told.push(status)
      watch.times.push(now)
    },
    onLost: () => void watch.told.push('lost'),
  }
  void watchStatus('https://app.example/status', listener, controller.signal)
  return watch
}
