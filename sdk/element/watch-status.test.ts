import { afterEach, expect, it, vi } from 'vitest'
import { watchStatus } from './watch-status.ts'

afterEach(() => void vi.unstubAllGlobals())

it('opens no stream of events that nobody would close, as the watch ended while the first answer was read', async () => {
  const controller = new AbortController()
  const body = new ReadableStream({ cancel: () => controller.abort() })
  const opened: string[] = []
  vi.stubGlobal('document', { hidden: false })
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
  await watchStatus('https://app.example/status', 'omit', listener, controller.signal)
  expect(opened).toEqual([])
})
