/** Watching the status of a session at an address of the application, by polling or by server-sent events. */
import { readStatusAnswer, type StatusAnswer } from './status.ts'

export interface StatusListener {
  /** Is called with each answer; `now` is the time of the application, in seconds since 1970. */
  onAnswer(answer: StatusAnswer, now: number): void
  /** Is called when the application could not be asked several times in a row. */
  onLost(): void
}

const EVERY_MS = 1000
const SLOWEST_MS = 15_000
const TIMEOUT_MS = 10_000
/** The failures in a row after which the person is told. */
const FAILURES = 3

/** Asks for the status until the signal is aborted: each second, while the page can be seen. */
export async function watchStatus(url: string, listener: StatusListener, signal: AbortSignal): Promise<void> {
  let failures = 0
  const noteFailure = (): void => {
    if (!signal.aborted && ++failures >= FAILURES) listener.onLost()
  }
  const tell = (text: string, now: number): void => {
    const answer = readStatusAnswer(text)
    if (answer === undefined) {
      noteFailure()
    } else if (!signal.aborted) {
      failures = 0
      listener.onAnswer(answer, now)
    }
  }
  while (!signal.aborted) {
    await waitUntilVisible()
    const response = await ask(url, signal)
    const now = secondsOf(response)
    if (response?.headers.get('content-type')?.startsWith('text/event-stream')) {
      await response.body?.cancel()
      const ahead = now - secondsOf(undefined)
      if (await followEvents(url, (text) => tell(text, secondsOf(undefined) + ahead), signal)) noteFailure()
    } else {
      const text = response?.ok ? await response.text().catch(() => undefined) : undefined
      if (text === undefined) noteFailure()
      else tell(text, now)
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(EVERY_MS * 2 ** failures, SLOWEST_MS)))
  }
}

function ask(url: string, signal: AbortSignal): Promise<Response | undefined> {
  // Cookies go to the origin of the page alone, as is the default.
  return fetch(url, {
    cache: 'no-store',
    headers: { accept: 'application/json, text/event-stream' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  }).catch(() => undefined)
}

/**
 * Returns the time at which an answer was sent, in seconds since the epoch, since the clock of a phone may be wrong.
 */
function secondsOf(response: Response | undefined): number {
  return (Date.parse(response?.headers.get('date') ?? '') || Date.now()) / 1000
}

/**
 * Follows a stream until it breaks, the page is hidden or seen, or the signal is aborted; resolves to whether it broke.
 * The loop asks anew, since a browser that connects again by itself does not say that it cannot, and a connection that
 * died while a phone slept says nothing of that.
 */
function followEvents(url: string, onText: (text: string) => void, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const source = new EventSource(url)
    const end = (isBroken: boolean): void => {
      source.close()
      document.removeEventListener('visibilitychange', leave)
      resolve(isBroken)
    }
    const leave = (): void => end(false)
    signal.addEventListener('abort', leave, { once: true })
    document.addEventListener('visibilitychange', leave)
    for (const type of ['message', 'status']) {
      source.addEventListener(type, (event) => onText(String((event as MessageEvent<unknown>).data)))
    }
    source.addEventListener('error', () => {
      // An event that the application calls `error` comes while the stream is open.
      if (source.readyState !== source.OPEN) end(true)
    })
  })
}

function waitUntilVisible(): Promise<void> {
  return new Promise((resolve) => {
    if (document.hidden) document.addEventListener('visibilitychange', () => resolve(), { once: true })
    else resolve()
  })
}
